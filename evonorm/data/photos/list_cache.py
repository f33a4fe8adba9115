"""The list of a folder's photos, kept: ImageNet has 1.28 million, but only a thousand folders whose times tell all.

A file that is rewritten in place leaves its folder's time alone, so that the list does not notice it.
"""

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from zipfile import BadZipFile

import numpy as np

from evonorm.data.cifar10 import data_folder
from evonorm.data.photos.photo_list import PhotoList
from evonorm.foundation import write_atomically

VERSION = 1
SETTLED = 2_000_000_000  # nanoseconds; a folder that changed later may change again within the same tick of its clock


@dataclass(frozen=True)
class KeptList:
    """What a scan gives.

    Attributes:
        classes: by label.
        photos: of training first, then of validation.
        training: how many are of training.
        times: the time of change of every folder and file that was looked into, by its path below the root.
    """

    classes: tuple[str, ...]
    photos: PhotoList
    training: int
    times: dict[str, int]


def list_path(root: Path, layout: str) -> Path:
    key = hashlib.sha256(os.fsencode(root) + layout.encode()).hexdigest()[:16]
    return data_folder() / "photo_lists" / f"{key}.npz"


def kept_list(root: Path, layout: str) -> KeptList | None:
    """The kept list, if there is one, it is whole, and nothing has changed since."""
    try:
        with list_path(root, layout).open("rb") as file, np.load(file) as kept:
            times = dict(zip(_words(kept["folders"]), kept["times"].tolist(), strict=True))
            if int(kept["version"]) != VERSION or any(_changed(root / path, then) for path, then in times.items()):
                return None
            photos = PhotoList(root, kept["names"], kept["ends"], kept["labels"], kept["sizes"])
            return KeptList(tuple(_words(kept["classes"])), photos, int(kept["training"]), times)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def keep_list(layout: str, found: KeptList) -> None:
    """Writes the list, unless a folder has only just changed; where that is impossible, it is made anew next time."""
    if max(found.times.values()) > time.time_ns() - SETTLED:
        return
    photos = found.photos

    def write(file: IO[bytes]) -> None:
        np.savez(
            file,
            version=np.array(VERSION),
            classes=_bytes(found.classes),
            training=np.array(found.training),
            folders=_bytes(tuple(found.times)),
            times=np.array(list(found.times.values()), np.int64),
            names=photos.names,
            ends=photos.ends,
            labels=photos.labels,
            sizes=photos.sizes,
        )

    with suppress(OSError):
        write_atomically(list_path(photos.root, layout), write)


def _changed(path: Path, then: int) -> bool:
    return path.stat().st_mtime_ns != then


def _bytes(words: tuple[str, ...]) -> np.ndarray:
    return np.frombuffer("\0".join(words).encode(errors="surrogateescape"), np.uint8)


def _words(content: np.ndarray) -> list[str]:
    return content.tobytes().decode(errors="surrogateescape").split("\0")
