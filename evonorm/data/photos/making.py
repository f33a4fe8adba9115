"""Makes whole batches of pictures, in this process or in a loader's: a pure function of the key that is asked for."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from evonorm.data.photos.decode import UnreadablePhotoError, read_photo
from evonorm.data.photos.photo_list import Photos
from evonorm.data.photos.picture import evaluation_picture, training_picture
from evonorm.data.photos.settings import PictureSettings
from evonorm.data.photos.stream import PhotoStream

Key = tuple[int, int]
HOPELESS = 100  # unreadable photos in a row: the disk is gone, not a file broken


class Made(NamedTuple):
    """A batch as it travels between processes.

    Attributes:
        pictures: (n, 3, size, size) uint8.
        labels: (n,) int64.
        skipped: which photos could not be read.
        problem: why there is no batch, if there is none.
    """

    pictures: Tensor
    labels: Tensor
    skipped: list[int]
    problem: str | None = None


class TrainingBatches:
    """The batch of one logical worker at one step, by (step, worker)."""

    def __init__(
        self, photos: Photos, settings: PictureSettings, images_per_worker: int, workers: int, seed: int
    ) -> None:
        self.photos, self.settings = photos, settings
        self.images_per_worker, self.workers = images_per_worker, workers
        self.stream = PhotoStream(len(photos), seed)

    def __getitem__(self, key: Key) -> Made:
        step, worker = key
        first = (step * self.workers + worker) * self.images_per_worker
        return _made(range(first, first + self.images_per_worker), self._drawn, self.settings.size)

    def _drawn(self, position: int, skipped: list[int]) -> tuple[Tensor, int]:
        """The picture at a position of the stream; an unreadable photo's place is taken by the next of that epoch."""
        epoch, place = self.stream.place(position)
        seed = self.stream.picture_seed(epoch, self.stream.index(epoch, place))
        for further in range(min(HOPELESS, len(self.photos))):
            index = self.stream.index(epoch, place + further)
            photo = _read(self.photos, index, self.settings, skipped)
            if photo is not None:
                generator = torch.Generator().manual_seed(seed)
                return training_picture(photo, self.settings, generator), self.photos.label(index)
        raise UnreadablePhotoError(
            f"{further + 1} photos in a row cannot be read, the last is {self.photos.path(index)}. Is the disk there?"
        )


class EvaluationBatches:
    """The centres of some photos, by (first, last + 1); what cannot be read is left out."""

    def __init__(self, photos: Photos, settings: PictureSettings) -> None:
        self.photos, self.settings = photos, settings

    def __getitem__(self, key: Key) -> Made:
        return _made(range(*key), self._whole, self.settings.size)

    def _whole(self, index: int, skipped: list[int]) -> tuple[Tensor, int] | None:
        photo = _read(self.photos, index, self.settings, skipped)
        return None if photo is None else (evaluation_picture(photo, self.settings), self.photos.label(index))


def _read(photos: Photos, index: int, settings: PictureSettings, skipped: list[int]) -> Tensor | None:
    try:
        return read_photo(photos.path(index))
    except UnreadablePhotoError:
        if settings.unreadable == "raise":
            raise
        skipped.append(index)
        return None


def _made(places: range, one: Callable[[int, list[int]], tuple[Tensor, int] | None], size: int) -> Made:
    pictures = torch.empty(len(places), 3, size, size, dtype=torch.uint8)
    labels: list[int] = []
    skipped: list[int] = []
    try:
        for place in places:
            if (found := one(place, skipped)) is not None:
                pictures[len(labels)] = found[0]
                labels.append(found[1])
    except UnreadablePhotoError as error:
        return Made(pictures[:0], torch.tensor([]), skipped, str(error))
    return Made(pictures[: len(labels)], torch.tensor(labels, dtype=torch.int64), skipped)
