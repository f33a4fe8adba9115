"""A layer in a classifier of photos, as the paper trains them on ImageNet (appendix "Implementation Details")."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from evonorm.data import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    PhotoBatches,
    PhotoFolder,
    Photos,
    PictureSettings,
    normalized,
    open_photo_folder,
    stratified_split,
    whole_photos,
)
from evonorm.foundation import seed_from
from evonorm.layers import no_weight_decay
from evonorm.models import create_model
from evonorm.training import (
    TASKS,
    Classification,
    EpochSize,
    Measure,
    TaskEntry,
    TrainingRecipe,
    my_workers,
    rank,
    ranks,
)

SPLIT_SEED = 0  # of the photos that are held out: the same ones whatever a training's own seed


@dataclass(frozen=True)
class PhotoSettings:
    """Which net on which photos; the defaults are the paper's for ResNet-50.

    Attributes:
        model: one of `evonorm.model_names()`; its classes are as many as the folder has.
        width: multiplies the model's channels.
        data: a folder in ImageNet's layout, `train/CLASS/*` and `val/CLASS/*`.
        images_per_worker: of each logical worker and step.
        held_out: share of the training photos, taken class by class, that is measured on in place of `val`; those are
            then not trained on. 0.1 reranks as the paper does, 0 is for final numbers.
        label_smoothing: share of the target that is spread over all classes.
        pictures: crops, resizing and augmentation.
        evaluation_batch: photos at a time; no figure depends on it.
        loaders: processes that decode, 0 for none; no figure depends on it.
    """

    model: str = "resnet50"
    width: float = 1.0
    data: str = ""
    images_per_worker: int = 128
    held_out: float = 0.0
    label_smoothing: float = 0.0
    pictures: PictureSettings = field(default_factory=PictureSettings)
    evaluation_batch: int = 250
    loaders: int = 4

    def __post_init__(self) -> None:
        for name in ("images_per_worker", "evaluation_batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.loaders < 0:
            raise ValueError(f"loaders must not be negative, got {self.loaders}.")
        for name in ("held_out", "label_smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must lie in 0 to below 1, got {getattr(self, name)}.")

    @property
    def photos(self) -> "TaskPhotos":
        """The photos that these settings are about; raises where they cannot be had."""
        if not self.data:
            raise ValueError(
                "no photos to train on: name a folder in ImageNet's layout (train/CLASS/*, val/CLASS/*) with"
                " --data FOLDER, or as settings.data in the recipe."
            )
        return _photos(Path(self.data), self.held_out)


@dataclass(frozen=True)
class TaskPhotos:
    """What is trained and what is measured on."""

    folder: PhotoFolder
    training: Photos
    measured: Photos


@lru_cache(maxsize=2)
def _photos(root: Path, held_out: float) -> TaskPhotos:
    folder = open_photo_folder(root)
    if not held_out:
        return TaskPhotos(folder, folder.training, folder.validation)
    return TaskPhotos(folder, *stratified_split(folder.training, held_out, SPLIT_SEED))


class PhotoTask(Classification):
    """One layer in one classifier; first weights, order and crops derive from the seed alone."""

    def __init__(self, layer: str, settings: PhotoSettings, recipe: TrainingRecipe, seed: int) -> None:
        photos = settings.photos
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_from(seed, 0))
            classes = len(photos.folder.classes)
            model = create_model(settings.model, layer, num_classes=classes, width=settings.width)
        self.settings, self.measured, self.told = settings, photos.measured, 0
        self.pictures = PhotoBatches(
            photos.training,
            settings.pictures,
            settings.images_per_worker,
            recipe.workers,
            my_workers(recipe.workers),
            seed_from(seed, 1),
            settings.loaders,
        )
        super().__init__(
            model,
            self.pictures,
            no_weight_decay(model),
            self._held_out,
            label_smoothing=settings.label_smoothing,
            prepare=partial(normalized, mean=IMAGENET_MEAN, std=IMAGENET_STD),
            top5=True,
        )

    def measure(self, step: int) -> tuple[Measure, ...]:
        if self.pictures.skipped > self.told:
            self.told = self.pictures.skipped
            some = ", ".join(self.pictures.skipped_names()[:3])
            warnings.warn(f"{self.told} photos could not be read and were skipped so far: {some} ...", stacklevel=2)
        return super().measure(step)

    def _held_out(self) -> Iterator[tuple[Tensor, Tensor]]:
        """This rank's share, nothing padded."""
        settings = self.settings
        return whole_photos(
            self.measured, settings.pictures, settings.evaluation_batch, rank(), ranks(), settings.loaders
        )


def photo_identity(settings: PhotoSettings) -> dict[str, Any]:
    """What decides the figures in place of where the photos are and how fast they are read."""
    photos = settings.photos
    return {
        "data": None,
        "loaders": None,
        "evaluation_batch": None,
        "photos": {"trained": photos.training.fingerprint[:16], "measured": photos.measured.fingerprint[:16]},
    }


def photo_size(settings: PhotoSettings) -> EpochSize:
    return EpochSize(len(settings.photos.training), settings.images_per_worker)


CLASSIFY = TASKS.include("classify", TaskEntry(PhotoSettings, PhotoTask, photo_size, photo_identity))
