"""Real pictures: those that a discriminator sees, and a fixed choice that generated ones are compared with.

They come from a data set in memory, by name, or from a folder of photos in ImageNet's layout, whose centres are cut out
and scaled. What is held out for validation in memory is trained on and compared with here: nothing is chosen on it.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from evonorm.data import (
    DATA_SETS,
    CropBatches,
    DataSet,
    Images,
    PhotoBatches,
    PhotoFolder,
    PictureSettings,
    load_data,
    normalized,
    open_photo_folder,
    whole_photos,
)
from evonorm.foundation import seed_from
from evonorm.training import Batches, my_workers

HALF = (0.5, 0.5, 0.5)  # mean and deviation that turn 0 to 255 into -1 to 1
BATCH = 250  # photos that are read at a time to be compared with


class RealPictures(Protocol):
    """Where real pictures come from; `name` tells them from others, and `photos` is a digest where they are files."""

    @property
    def name(self) -> str: ...

    @property
    def classes(self) -> int: ...

    @property
    def photos(self) -> str | None: ...

    def batches(self, size: int, flips: bool, seed: int, workers: int, loaders: int) -> Batches:
        """`batch(number, worker)`: pictures of -1 to 1 and labels, the same for the same seed and numbers."""
        ...

    def chosen(self, part: str, start: int, stop: int) -> Iterator[Tensor]:
        """Those for "training" or for "test", of a fixed random order some in a row, (n, 3, side, side) as bytes."""
        ...


@lru_cache(maxsize=2)
def open_pictures(data: str, side: int) -> RealPictures:
    """A data set by its name, or a folder of photos by its path, whose pictures are then of this side."""
    if data in DATA_SETS:
        return PicturesInMemory(data, load_data(data))
    if data and Path(data).is_dir():
        return PhotosOnDisk(open_photo_folder(Path(data)), side)
    raise ValueError(
        f"there are no real pictures in {data!r}: expected a data set ({', '.join(DATA_SETS)}) or a folder in"
        " ImageNet's layout (train/CLASS/*, val/CLASS/*). Name it with --data."
    )


class PicturesInMemory:
    """All pictures of a data set but the test pictures, whole."""

    photos = None

    def __init__(self, name: str, data: DataSet) -> None:
        self.name, self.data, self.classes = name, data, data.classes

    def batches(self, size: int, flips: bool, seed: int, workers: int, loaders: int) -> "MirroredBatches":  # noqa: ARG002
        pixels = self.data.training.pixels
        images = Images(pixels, self.data.training.labels, self._rows("training"))
        whole = CropBatches(images, size, pixels.shape[1], HALF, HALF, seed_from(seed, 0), workers)
        return MirroredBatches(whole, flips, seed_from(seed, 1))

    def chosen(self, part: str, start: int, stop: int) -> Iterator[Tensor]:
        rows = self._rows(part)
        yield self.data.test.pixels[rows[_choice(len(rows), start, stop, part)]].permute(0, 3, 1, 2)

    def _rows(self, part: str) -> Tensor:
        if part == "test":
            return self.data.test.rows
        return torch.cat([self.data.training.rows, self.data.validation.rows]).sort().values


class PhotosOnDisk:
    """The centres of a folder's photos; "test" is its `val`."""

    def __init__(self, folder: PhotoFolder, side: int) -> None:
        self.folder, self.classes = folder, len(folder.classes)
        self.photos = folder.training.fingerprint[:16]
        self.name = f"photos-{self.photos}-{side}"
        self.settings = PictureSettings(side, interpolation="bilinear", crop="centre", centre=1.0)

    def batches(self, size: int, flips: bool, seed: int, workers: int, loaders: int) -> "PhotoPictures":
        settings, mine = replace(self.settings, flip=flips), my_workers(workers)
        return PhotoPictures(PhotoBatches(self.folder.training, settings, size, workers, mine, seed, loaders))

    def chosen(self, part: str, start: int, stop: int) -> Iterator[Tensor]:
        photos = self.folder.validation if part == "test" else self.folder.training
        some = photos.some(_choice(len(photos), start, stop, part).numpy())
        return (pictures for pictures, _ in whole_photos(some, self.settings, BATCH, 0, 1, loaders=0))


class MirroredBatches:
    """Batches whose pictures are mirrored at random, if asked."""

    def __init__(self, batches: CropBatches, flips: bool, seed: int) -> None:
        self.plain, self.flips, self.seed = batches, flips, seed

    def batch(self, number: int, worker: int = 0) -> tuple[Tensor, Tensor]:
        pictures, labels = self.plain.batch(number, worker)
        if not self.flips:
            return pictures, labels
        generator = torch.Generator().manual_seed(seed_from(self.seed, number, worker))
        mirrored = torch.rand(len(pictures), 1, 1, 1, generator=generator) < 0.5
        return torch.where(mirrored, pictures.flip(3), pictures), labels


class PhotoPictures:
    """Batches of photos as numbers of -1 to 1."""

    def __init__(self, batches: PhotoBatches) -> None:
        self.bytes = batches

    def batch(self, number: int, worker: int = 0) -> tuple[Tensor, Tensor]:
        pictures, labels = self.bytes.batch(number, worker)
        return normalized(pictures, HALF, HALF), labels


def _choice(there: int, start: int, stop: int, part: str) -> Tensor:
    if stop > there:
        raise ValueError(f"there are {there} {part} pictures to compare with, asked for {stop}.")
    return torch.randperm(there, generator=torch.Generator().manual_seed(seed_from(0)))[start:stop]
