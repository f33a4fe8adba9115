"""The real CIFAR-10 in one file that processes share by memory map.

The file holds 60,000 x 32 x 32 x 3 bytes of pixels, the 10,000 test pictures last, then 60,000 bytes of labels. Its
content is the same wherever the pictures came from, so one checksum tells a good file from a broken one.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from evonorm.data.cifar10_sources import read_cifar10
from evonorm.data.images import DataSet, split
from evonorm.data.packages import SourceError
from evonorm.foundation import write_atomically

PICTURES, TEST, VALIDATION = 60_000, 10_000, 5_000
BYTES = PICTURES * 32 * 32 * 3
SHA256 = "795f1793d7b8f8883c578442a02455d2469d49685325e98ea0621b15f4a88d69"
MEAN, STD = (0.49140, 0.48216, 0.44653), (0.24703, 0.24349, 0.26159)  # of the 50,000 training pictures


def data_folder() -> Path:
    """Where data are kept: EVONORM_DATA, or `evonorm` in the platform's cache folder."""
    if named := os.environ.get("EVONORM_DATA"):
        return Path(named)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "evonorm"


def cifar10_path() -> Path:
    return data_folder() / "cifar10.bin"


def load_cifar10() -> DataSet:
    """Opens the kept file, which must be there and right."""
    path = cifar10_path()
    if not path.exists():
        raise ValueError(f"CIFAR-10 is not in {path.parent}. Get it with: evonorm data cifar10 (or use --data digits)")
    if not _is_right(path):
        raise ValueError(f"{path} is damaged (wrong size or checksum). Get it again with: evonorm data cifar10")
    everything = torch.from_file(str(path), shared=False, size=BYTES + PICTURES, dtype=torch.uint8)
    pixels, labels = everything[:BYTES].view(PICTURES, 32, 32, 3), everything[BYTES:]
    return split("CIFAR-10", pixels, labels, validation=VALIDATION, test=TEST, mean=MEAN, std=STD)


def get_cifar10(source: Path | None = None, progress: Callable[[str, int, int], None] | None = None) -> str:
    """Makes sure that the kept file is there and right; returns where the pictures came from.

    `source` names a folder or archive of the user's; without it the public sources are tried in order.
    `progress(what, done, total)` is called during downloads; total 0 means unknown.
    """
    path = cifar10_path()
    if source is None and path.exists() and _is_right(path):
        return f"{path}, already there"
    content, origin = read_cifar10(source, progress or (lambda _what, _done, _total: None))
    if (found := hashlib.sha256(content).hexdigest()) != SHA256:
        raise SourceError(
            f"the pictures from {origin} are not CIFAR-10 (checksum {found[:12]}…, expected {SHA256[:12]}…)."
            " Nothing was kept. Name another copy with --from."
        )
    write_atomically(path, content)
    return origin


def _is_right(path: Path) -> bool:
    if path.stat().st_size != BYTES + PICTURES:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == SHA256
