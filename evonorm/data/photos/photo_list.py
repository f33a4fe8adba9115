"""Which photos there are: names, labels and sizes as arrays, never as Python objects.

A million Python strings in forked loader processes are copied page by page, since reading one writes its reference
count (pytorch#13246); one array of bytes with offsets stays shared.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from evonorm.foundation import seed_from


@dataclass(frozen=True, eq=False)
class PhotoList:
    """Every photo that was found below a folder.

    Attributes:
        root: the folder.
        names: (all bytes,) uint8, the paths below the root one after the other, with / as on any system.
        ends: (n,) int64, where each path ends in `names`.
        labels: (n,) int64.
        sizes: (n,) int64, bytes of each file.
    """

    root: Path
    names: np.ndarray
    ends: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray

    def name(self, row: int) -> str:
        start = self.ends[row - 1] if row else 0
        return self.names[start : self.ends[row]].tobytes().decode(errors="surrogateescape")


@dataclass(frozen=True, eq=False)
class Photos:
    """Some of a list's photos, those that `rows` names; subsets share the list."""

    everything: PhotoList
    rows: np.ndarray  # (n,) int64, ascending

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def root(self) -> Path:
        return self.everything.root

    @property
    def labels(self) -> np.ndarray:
        """(n,) int64."""
        return self.everything.labels[self.rows]

    def label(self, index: int) -> int:
        return int(self.everything.labels[self.rows[index]])

    def name(self, index: int) -> str:
        """The path below the root."""
        return self.everything.name(int(self.rows[index]))

    def path(self, index: int) -> Path:
        return self.root / self.name(index)

    def some(self, places: np.ndarray) -> "Photos":
        """Those at these places, in this list's own order."""
        return Photos(self.everything, np.sort(self.rows[places]))

    @cached_property
    def fingerprint(self) -> str:
        """A hex digest over names, labels and sizes: which photos these are, wherever the folder is."""
        names, ends = self.everything.names.tobytes(), self.everything.ends[self.rows].tolist()
        starts = np.concatenate([[0], self.everything.ends])[self.rows].tolist()
        labels, sizes = self.labels.tolist(), self.everything.sizes[self.rows].tolist()
        digest = hashlib.sha256()
        for start, end, label, size in zip(starts, ends, labels, sizes, strict=True):
            digest.update(b"%b\0%d\0%d\n" % (names[start:end], label, size))
        return digest.hexdigest()


def list_of(root: Path, found: list[tuple[bytes, int, int]]) -> PhotoList:
    """The list of (path below the root, label, size)."""
    names = [name for name, _, _ in found]
    return PhotoList(
        root,
        np.frombuffer(b"".join(names), np.uint8),
        np.cumsum([len(name) for name in names], dtype=np.int64),
        np.array([label for _, label, _ in found], np.int64),
        np.array([size for _, _, size in found], np.int64),
    )


def stratified_split(photos: Photos, share: float, seed: int) -> tuple[Photos, Photos]:
    """The photos without the held-out ones, and these: `share` of every class, a random choice fixed by the seed.

    A class of at least two photos has at least one on each side; a single photo is not held out.
    """
    if not 0 < share < 1:
        raise ValueError(f"the share that is held out must lie between 0 and 1, got {share}.")
    labels, counts = np.unique(photos.labels, return_counts=True)
    by_class = np.split(np.argsort(photos.labels, kind="stable"), counts.cumsum()[:-1])
    held = np.zeros(len(photos), bool)
    for label, members in zip(labels.tolist(), by_class, strict=True):
        count = min(max(int(len(members) * share + 0.5), 1), len(members) - 1)
        generator = torch.Generator().manual_seed(seed_from(seed, label))
        held[members[torch.randperm(len(members), generator=generator)[:count].numpy()]] = True
    return Photos(photos.everything, photos.rows[~held]), Photos(photos.everything, photos.rows[held])
