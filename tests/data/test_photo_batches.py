import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import torch

from evonorm.data import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    PhotoBatches,
    PictureSettings,
    UnreadablePhotoError,
    normalized,
    open_photo_folder,
    whole_photos,
)
from evonorm.data.photos.decode import read_photo
from evonorm.data.photos.loaders import loading
from evonorm.data.photos.making import TrainingBatches
from evonorm.data.photos.picture import evaluation_picture, training_picture
from evonorm.data.photos.stream import PhotoStream
from tests.data.photo_files import real_folder, write_folder

SETTINGS = PictureSettings(size=16, augmentation="randaugment")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EVONORM_DATA", str(tmp_path / "kept"))
    return open_photo_folder(write_folder(tmp_path / "photos"))  # 18 for training, 6 for validation


def batches_of(folder, settings=SETTINGS, images=4, workers=3, mine=None, seed=5, loaders=0):
    return PhotoBatches(folder.training, settings, images, workers, mine or range(workers), seed, loaders)


def same(one, other):
    return all(torch.equal(*pair) for pair in zip(one, other, strict=True))


def children():
    """Of this process, those that have ended but were not waited for among them."""
    own = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(own.read_text().split()) if own.exists() else {child.pid for child in multiprocessing.active_children()}


def test_a_batch_is_what_its_numbers_say(folder):
    """Written down a second time, from the contract alone."""
    batches = batches_of(folder)
    for step, worker in ((0, 0), (0, 2), (1, 1), (4, 0)):
        pictures, labels = batches.batch(step, worker)
        assert (pictures.dtype, pictures.shape, labels.dtype) == (torch.uint8, (4, 3, 16, 16), torch.int64)
        stream = PhotoStream(18, seed=5)
        for k in range(4):
            epoch, place = divmod((step * 3 + worker) * 4 + k, 18)
            index = int(stream.order(epoch)[place])
            generator = torch.Generator().manual_seed(stream.picture_seed(epoch, index))
            photo = read_photo(folder.training.path(index))
            assert torch.equal(pictures[k], training_picture(photo, SETTINGS, generator))
            assert int(labels[k]) == folder.training.label(index)


def test_an_epoch_shows_every_photo_once_also_across_batches(folder):
    stream = PhotoStream(18, seed=0)
    seen = [stream.index(*stream.place(position)) for position in range(18 * 4)]
    epochs = [seen[start : start + 18] for start in range(0, 72, 18)]
    assert all(sorted(epoch) == list(range(18)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4
    batches = batches_of(folder)  # 12 photos a step: 3 steps are 2 epochs
    counts = Counter(
        label for step in range(3) for worker in range(3) for label in batches.batch(step, worker)[1].tolist()
    )
    assert counts == {0: 10, 1: 12, 2: 14}


def test_the_same_photo_is_cut_otherwise_in_another_epoch_and_under_another_seed(folder):
    def pictures_of(seed, epoch):
        batches = batches_of(folder, PictureSettings(size=16), images=18, workers=1, seed=seed)
        stream = PhotoStream(18, seed)
        return dict(zip(stream.order(epoch).tolist(), batches.batch(epoch)[0], strict=True))

    first, second, other = pictures_of(0, 0), pictures_of(0, 1), pictures_of(1, 0)
    assert all(not torch.equal(first[index], second[index]) for index in first)
    assert all(not torch.equal(first[index], other[index]) for index in first)


@pytest.mark.parametrize("loaders", [1, 2])
def test_batches_do_not_depend_on_loaders_or_the_order_of_calls(folder, loaders):
    here, there = batches_of(folder), batches_of(folder, mine=range(1, 3), loaders=loaders)
    keys = [(step, worker) for step in range(3) for worker in (1, 2)]
    keys += [(7, 2), (1, 1), (1, 1), (1, 2), (2, 1), (0, 2)]  # resumed elsewhere, repeated, back, on, back
    for key in keys:
        assert same(there.batch(*key), here.batch(*key))
    there.close()
    assert same(there.batch(3, 1), here.batch(3, 1))
    there.close()


def test_loaders_leave_the_global_generator_alone(folder):
    state = torch.get_rng_state()
    batches = batches_of(folder, loaders=1)
    batches.batch(0)
    assert torch.equal(torch.get_rng_state(), state)
    batches.close()


class Threads:
    def __getitem__(self, key):
        return torch.get_num_threads()


def test_a_loader_has_one_thread():
    torch.set_num_threads(2)
    assert list(loading(Threads(), [0, 1], loaders=2, persistent=False)) == [1, 1]


@pytest.mark.parametrize("end", ["close", "collect"])
def test_loaders_end_with_their_batches(folder, end):
    before = children()
    batches = batches_of(folder, loaders=2)
    batches.batch(0)
    assert len(children() - before) == 2
    if end == "close":
        batches.close()
    else:
        del batches
        gc.collect()
    assert not children() - before  # another test's may end meanwhile


def test_evaluation_leaves_no_processes_and_does_not_disturb_training(folder):
    before = children()
    here, there = batches_of(folder), batches_of(folder, loaders=1)
    for step in range(3):
        assert same(there.batch(step), here.batch(step))
        assert sum(len(labels) for _, labels in whole_photos(folder.validation, SETTINGS, 4, 0, 1, loaders=1)) == 6
    there.close()
    assert children() == before


class Interrupted:
    def __next__(self):
        raise KeyboardInterrupt


def test_after_an_interruption_batches_begin_with_new_loaders(folder):
    here, there = batches_of(folder), batches_of(folder, loaders=1)
    there.batch(0)
    first = children()
    there._ahead.coming = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        there.batch(0, 1)
    assert same(there.batch(0, 1), here.batch(0, 1))
    assert not first & children()
    there.close()


@pytest.mark.slow
def test_loaders_end_soon_after_a_killed_parent(folder):
    code = f"""
import subprocess, os, sys, time
from pathlib import Path
from evonorm.data import PhotoBatches, PictureSettings, open_photo_folder
photos = open_photo_folder(Path({str(folder.root)!r})).training
batches = PhotoBatches(photos, PictureSettings(size=16), 4, 1, range(1), 0, 2)
batches.batch(0)
import multiprocessing
print(*(child.pid for child in multiprocessing.active_children()), flush=True)
time.sleep(600)
"""
    root = Path(__file__).parents[2]
    parent = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, text=True, cwd=root)
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "loaders outlive their parent"
        time.sleep(0.2)


def alive(pid):
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_what_a_loader_is_given_can_be_pickled(folder):
    """Where processes are not forked, it travels."""
    making = TrainingBatches(folder.training, SETTINGS, 4, 3, 5)
    assert same(pickle.loads(pickle.dumps(making))[2, 1][:2], making[2, 1][:2])


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("loaders", [0, 2])
def test_evaluation_shares_are_a_partition(folder, ranks, loaders):
    wanted = [evaluation_picture(read_photo(folder.training.path(index)), SETTINGS) for index in range(18)]
    found, labels = [], []
    for rank in range(ranks):
        for pictures, some in whole_photos(folder.training, SETTINGS, 4, rank, ranks, loaders if rank == 0 else 0):
            assert 1 <= len(some) <= 4
            found += list(pictures)
            labels += some.tolist()
    assert labels == folder.training.labels.tolist()
    assert same(found, wanted)


def broken(folder, *places):
    for index in places:
        folder.training.path(index).write_bytes(b"")


@pytest.mark.parametrize("loaders", [0, 2])
def test_an_unreadable_photo_stops_the_training_with_its_name(folder, loaders):
    broken(folder, 7)
    batches = batches_of(folder, workers=1, images=18, loaders=loaders)
    with pytest.raises(
        UnreadablePhotoError, match=r"train/bee/bee_2.JPEG cannot be read .* unreadable = .skip."
    ) as caught:
        batches.batch(0)
    assert "Traceback" not in str(caught.value)
    batches.close()


@pytest.mark.parametrize("loaders", [0, 2])
def test_a_skipped_photo_is_replaced_by_the_next_of_its_epoch_and_counted(folder, loaders):
    order = PhotoStream(18, seed=5).order(0).tolist()
    whole = batches_of(folder, workers=1, images=18).batch(0)
    broken(folder, order[3], order[4], order[17])  # two in a row, and the last, whose next is the first
    settings = PictureSettings(size=16, augmentation="randaugment", unreadable="skip")
    batches = batches_of(folder, settings, workers=1, images=18, loaders=loaders)
    pictures, labels = batches.batch(0)
    replaced = {3: 5, 4: 5, 17: 0}
    assert labels.tolist() == [folder.training.label(order[replaced.get(place, place)]) for place in range(18)]
    for place in set(range(18)) - set(replaced):
        assert torch.equal(pictures[place], whole[0][place])
    assert not torch.equal(pictures[3], pictures[5])  # cut in a way of its own
    batches.batch(1)
    assert batches.skipped == 3
    assert sorted(batches.skipped_names()) == sorted(folder.training.name(order[place]) for place in replaced)
    batches.close()


def test_a_lost_disk_is_no_row_of_broken_photos(folder):
    broken(folder, *range(18))
    with pytest.raises(UnreadablePhotoError, match=r"18 photos in a row cannot be read.*Is the disk there"):
        batches_of(folder, PictureSettings(unreadable="skip")).batch(0)


def test_evaluation_leaves_unreadable_photos_out_only_if_asked(folder):
    broken(folder, 2)
    with pytest.raises(UnreadablePhotoError, match=r"ant_2.JPEG"):
        list(whole_photos(folder.training, SETTINGS, 4, 0, 1, 0))
    found = list(whole_photos(folder.training, PictureSettings(size=16, unreadable="skip"), 4, 0, 1, 0))
    assert torch.cat([labels for _, labels in found]).tolist() == [0] * 4 + [1] * 6 + [2] * 7


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"images": 0}, "images_per_worker must be at least 1"),
        ({"workers": 0, "mine": range(1)}, "workers must be at least 1"),
        ({"loaders": -1}, "loaders must be at least 0"),
        ({"mine": range(1, 4)}, "mine must be some of the workers 0 to 2"),
    ],
)
def test_impossible_batches_are_refused(folder, wrong, message):
    with pytest.raises(ValueError, match=message):
        batches_of(folder, **wrong)


def test_a_worker_of_another_process_is_refused(folder):
    with pytest.raises(ValueError, match="worker 2 was asked for"):
        batches_of(folder, mine=range(2)).batch(0, 2)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_normalized_is_mean_0_and_deviation_1_in_channels_last(layout):
    pictures = torch.randint(256, (2, 3, 5, 7), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    found = normalized(pictures.contiguous(memory_format=layout), IMAGENET_MEAN, IMAGENET_STD)
    mean, std = (torch.tensor(each, dtype=torch.float64).view(3, 1, 1) for each in (IMAGENET_MEAN, IMAGENET_STD))
    torch.testing.assert_close(found.double(), (pictures.double() / 255 - mean) / std, rtol=1e-5, atol=1e-5)
    assert found.dtype == torch.float32
    assert found.is_contiguous(memory_format=torch.channels_last)


def test_torchvision_is_not_imported_before_a_photo_is_read():
    code = "import sys, evonorm.data; print('torchvision' in sys.modules, 'PIL' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert done.stdout.split() == ["False", "False"]


def test_real_photos_in_every_setting(tmp_path, monkeypatch):
    monkeypatch.setenv("EVONORM_DATA", str(tmp_path))
    photos = open_photo_folder(real_folder("tiny_imagenet20")).training
    seen = set()
    for images in ("torchvision", "tf"):
        for augmentation in ("none", "randaugment", "autoaugment"):
            settings = PictureSettings(size=64, images=images, augmentation=augmentation)
            pictures, _ = PhotoBatches(photos, settings, 64, 1, range(1), 0, 0).batch(0)
            assert 60 < pictures.float().mean() < 180
            seen.add(pictures.numpy().tobytes())
    assert len(seen) == 6
