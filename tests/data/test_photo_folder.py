import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonorm.data import open_class_folder, open_photo_folder, stratified_split
from evonorm.data.photos import list_cache
from evonorm.data.photos.photo_list import Photos, list_of
from evonorm.data.photos.scan import Scan
from tests.data.photo_files import real_folder, write_folder, write_photo


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EVONORM_DATA", str(tmp_path / "kept"))


@pytest.fixture
def root(tmp_path):
    return write_folder(tmp_path / "photos")


def long_ago(root):
    """Backdates every folder: one that has only just changed is not kept."""
    for path in (root, *root.rglob("*")):
        os.utime(path, (1_600_000_000, 1_600_000_000))


def names(photos):
    return [photos.name(index) for index in range(len(photos))]


def test_class_folders(root):
    folder = open_photo_folder(root)
    assert folder.classes == ("ant", "bee", "cat")
    assert folder.training.labels.tolist() == [0] * 5 + [1] * 6 + [2] * 7
    assert folder.validation.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert names(folder.validation)[2:4] == ["val/bee/bee_0.JPEG", "val/bee/bee_1.JPEG"]
    assert all(folder.training.path(index).is_file() for index in range(len(folder.training)))


def test_photos_are_found_at_any_depth_in_any_case_and_nothing_else_is(root):
    write_photo(root / "train" / "ant" / "images" / "deep.Jpg")
    write_photo(root / "train" / "ant" / "png.PNG")
    (root / "train" / "ant" / "ant_boxes.txt").write_text("ant_0.JPEG\t0\t0\t62\t57\n")
    (root / "train" / "ant" / "._ant_0.JPEG").write_bytes(b"left by another system")
    (root / "train" / ".checkpoints").mkdir()
    found = names(open_photo_folder(root).training)
    assert {"train/ant/images/deep.Jpg", "train/ant/png.PNG"} <= set(found)
    assert len(found) == 18 + 2


@pytest.mark.parametrize("below", ["", "images"])
@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("kaggle", [True, False])
def test_a_flat_val_is_read_with_its_annotations(tmp_path, below, beside, kaggle):
    root = write_folder(tmp_path / "photos", validation=0)
    labels = {"val_0": "cat", "val_1": "ant", "val_2": "cat"}
    for number, name in enumerate(labels):
        write_photo(root / "val" / below / f"{name}.JPEG", number)
    place = root / "val" if beside else root
    if kaggle:
        lines = [f"{name},{label} 1 2 3 4 {label} 5 6 7 8" for name, label in labels.items()]
        (place / "LOC_val_solution.csv").write_text("\n".join(["ImageId,PredictionString", *lines]))
    else:
        lines = [f"{name}.JPEG\t{label}\t0\t32\t44\t62" for name, label in labels.items()]
        (place / "val_annotations.txt").write_text("\n".join(lines) + "\n")
    assert open_photo_folder(root).validation.labels.tolist() == [2, 0, 2]


def test_class_folders_count_more_than_annotations_that_were_left_behind(root):
    (root / "val" / "val_annotations.txt").write_text("val_0.JPEG\tcat\t0\t0\t1\t1\n")
    assert open_photo_folder(root).validation.labels.tolist() == [0, 0, 1, 1, 2, 2]


def test_a_folder_of_classes_alone(root):
    folder = open_class_folder(root / "train")
    assert folder.classes == ("ant", "bee", "cat")
    assert (len(folder.training), len(folder.validation)) == (18, 0)
    assert folder.training.path(0).is_file()


def remove(path):
    for each in sorted(path.rglob("*"), reverse=True):
        each.rmdir() if each.is_dir() else each.unlink()
    path.rmdir()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (remove, "is not a folder: expected train/CLASS"),
        (lambda root: remove(root / "train"), r"has no folder train: expected .* found val"),
        (lambda root: remove(root / "val"), r"has no folder val: .* found train"),
        (lambda root: (root / "train" / "dog").mkdir(), r"dog holds no photos: expected files that end in .jpg"),
        (
            lambda root: write_photo(root / "val" / "dog" / "a.jpg"),
            r"has the class dog \(1 such\), which train does not",
        ),
        (lambda root: write_photo(root / "val" / "a.jpg"), r"expected val_annotations.txt or LOC_val_solution.csv"),
        (lambda root: [remove(each) for each in (root / "train").iterdir()], "has no class folders.*unpack each"),
    ],
)
def test_a_wrong_layout_is_explained(root, spoil, message):
    spoil(root)
    with pytest.raises(ValueError, match=message):
        open_photo_folder(root)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("other.JPEG\tant\t0", r"val/val_0.JPEG has no line in .*val_annotations.txt"),
        ("val_0.JPEG\tdog\t0", "is of the class dog, which train does not have"),
        ("val_0.JPEG", "has a line without a class"),
    ],
)
def test_wrong_annotations_are_explained(tmp_path, line, message):
    root = write_folder(tmp_path / "photos", validation=0)
    write_photo(root / "val" / "val_0.JPEG")
    (root / "val" / "val_annotations.txt").write_text(line + "\n")
    with pytest.raises(ValueError, match=message):
        open_photo_folder(root)


def test_the_list_is_kept_and_made_anew_after_a_change(root, monkeypatch):
    long_ago(root)
    first = open_photo_folder(root)
    with monkeypatch.context() as patched:
        patched.setattr(Scan, "photos_in", lambda *_: pytest.fail("the folder was scanned again"))
        again = open_photo_folder(root)
    assert (again.classes, names(again.training)) == (first.classes, names(first.training))
    assert again.training.fingerprint == first.training.fingerprint
    assert again.validation.labels.tolist() == first.validation.labels.tolist()
    write_photo(root / "train" / "bee" / "new.jpg")
    assert len(open_photo_folder(root).training) == 19
    (root / "train" / "bee" / "new.jpg").unlink()
    assert len(open_photo_folder(root).training) == 18


def test_the_list_is_made_anew_when_annotations_change(tmp_path):
    root = write_folder(tmp_path / "photos", validation=0)
    write_photo(root / "val" / "val_0.JPEG")
    annotations = root / "val" / "val_annotations.txt"
    annotations.write_text("val_0.JPEG\tant\t0\n")
    long_ago(root)
    assert open_photo_folder(root).validation.label(0) == 0
    annotations.write_text("val_0.JPEG\tcat\t0\n")
    assert open_photo_folder(root).validation.label(0) == 2


def test_a_folder_that_has_only_just_changed_is_not_kept(root):
    open_photo_folder(root)
    assert not list_cache.list_path(root.resolve(), "train and val").exists()


@pytest.mark.parametrize("spoil", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b[:200] + b"????" + b[204:]])
def test_a_damaged_list_is_made_anew(root, spoil):
    long_ago(root)
    wanted = names(open_photo_folder(root).training)
    path = list_cache.list_path(root.resolve(), "train and val")
    path.write_bytes(spoil(path.read_bytes()))
    assert list_cache.kept_list(root.resolve(), "train and val") is None
    assert names(open_photo_folder(root).training) == wanted
    assert list_cache.kept_list(root.resolve(), "train and val") is not None


def test_a_list_that_cannot_be_kept_is_no_error(root, tmp_path, monkeypatch):
    long_ago(root)
    (tmp_path / "a file").touch()
    monkeypatch.setenv("EVONORM_DATA", str(tmp_path / "a file"))
    assert len(open_photo_folder(root).training) == 18


def test_the_fingerprint_tells_photos_apart_but_not_places(root, tmp_path):
    before = open_photo_folder(root).training
    moved = root.rename(tmp_path / "elsewhere")
    assert open_photo_folder(moved).training.fingerprint == before.fingerprint
    photo = moved / "train" / "ant" / "ant_0.JPEG"
    photo.write_bytes(photo.read_bytes() + b"\0")
    grown = open_photo_folder(moved).training.fingerprint
    photo.rename(photo.with_name("renamed.JPEG"))
    renamed = open_photo_folder(moved).training.fingerprint
    assert len({before.fingerprint, grown, renamed, open_photo_folder(moved).validation.fingerprint}) == 4


def photos_of(counts):
    everything = list_of(
        None, [(b"%d/%d" % (label, each), label, 1) for label, count in enumerate(counts) for each in range(count)]
    )
    return Photos(everything, np.arange(sum(counts)))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), st.floats(0.05, 0.95), st.integers(0, 2**63))
def test_the_split_is_disjoint_complete_stratified_and_pure(counts, share, seed):
    photos = photos_of(counts)
    rest, held = stratified_split(photos, share, seed)
    assert sorted([*rest.rows, *held.rows]) == list(range(len(photos)))
    for label, count in enumerate(counts):
        found = int((held.labels == label).sum())
        assert abs(found - share * count) <= 1
        assert count == 1 or 1 <= found <= count - 1
    again = stratified_split(photos_of(counts), share, seed)
    assert again[0].fingerprint == rest.fingerprint
    assert again[1].rows.tolist() == held.rows.tolist()


def test_the_split_changes_with_the_seed_and_is_no_prefix():
    photos = photos_of([732, 1300, 1000])
    chosen = [stratified_split(photos, 0.1, seed)[1].rows for seed in (0, 1)]
    assert [len(rows) for rows in chosen] == [73 + 130 + 100] * 2
    assert not np.array_equal(*chosen)
    first = chosen[0][:73]
    assert 300 < first.mean() < 432  # of 0 to 731


@pytest.mark.parametrize("share", [0, 1, -0.1])
def test_an_impossible_share_is_refused(share):
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        stratified_split(photos_of([5]), share, 0)


def test_real_tiny_imagenet():
    folder = open_photo_folder(real_folder("tiny_imagenet20"))
    assert len(folder.classes) == 20
    assert np.bincount(folder.training.labels).tolist() == [500] * 20
    assert np.bincount(folder.validation.labels).tolist() == [50] * 20
    for index in (0, 4999, 9999):
        assert folder.classes[folder.training.label(index)] in folder.training.name(index)
