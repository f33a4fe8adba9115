"""A layer in Mask R-CNN on COCO (paper, "Generalization to Instance Segmentation")."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import nn

from evonorm.data import CocoBatches, CocoPicture, CocoSplit, PicturesWithObjects, coco_folder, load_coco
from evonorm.foundation import seed_from
from evonorm.layers import no_weight_decay
from evonorm.models import DetectorSettings, create_detector
from evonorm.tasks.detect.average_precision import Result, average_precisions
from evonorm.tasks.detect.drawn_objects import drawing_png
from evonorm.tasks.detect.found_objects import FoundObjects, find_objects
from evonorm.training import (
    TASKS,
    EpochSize,
    Losses,
    Measure,
    TaskEntry,
    TrainingRecipe,
    Turn,
    my_workers,
    rank,
    ranks,
    reestimated_moments,
)

KINDS: tuple[tuple[str, Literal["bbox", "segm"]], ...] = (("box", "bbox"), ("mask", "segm"))
COLUMNS = ("AP", "AP50", "AP75")
SHOWN = 6  # pictures with what was found in them, of each measure


@dataclass(frozen=True)
class CocoSettings:
    """Which detector on which pictures; the defaults are the paper's for R-50-FPN.

    Attributes:
        model: one of the detectors of `evonorm.model_names()`.
        width: multiplies the model's channels.
        data: a COCO folder; by default `coco` where evonorm keeps its data.
        training, measured: names of its splits.
        only: numbers of the pictures that are trained on, and measured on where that is the same split; all if empty.
        image_size: side of the square that pictures are fitted into.
        images_per_worker: of each logical worker and step.
        flips: whether half of the training pictures are mirrored.
        smallest_scale, largest_scale: of the random scale of training pictures.
        moment_batches: 0 measures with the moving moments; above that with their plain average over so many coming
            training batches, which runs of a few hundred steps need.
        evaluation_batch: pictures at a time; no figure depends on it.
        loaders: processes that make training batches, 0 for none; no figure depends on it.
        detector: proposals, samples, losses and what follows a sum.
    """

    model: str = "maskrcnn-r50-fpn"
    width: float = 1.0
    data: str = ""
    training: str = "train2017"
    measured: str = "val2017"
    only: tuple[int, ...] = ()
    image_size: int = 1024
    images_per_worker: int = 8
    flips: bool = True
    smallest_scale: float = 1.0
    largest_scale: float = 1.0
    moment_batches: int = 0
    evaluation_batch: int = 4
    loaders: int = 0
    detector: DetectorSettings = field(default_factory=DetectorSettings)

    def __post_init__(self) -> None:
        for name in ("image_size", "images_per_worker", "evaluation_batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        for name in ("moment_batches", "loaders"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}.")
        if not 0 < self.smallest_scale <= self.largest_scale:
            raise ValueError(f"scales must be positive and go up, got {self.smallest_scale} to {self.largest_scale}.")

    @property
    def trained_split(self) -> CocoSplit:
        return _split(self._folder, self.training, self.only)

    @property
    def measured_split(self) -> CocoSplit:
        return _split(self._folder, self.measured, self.only if self.measured == self.training else ())

    @property
    def _folder(self) -> Path:
        return Path(self.data) if self.data else coco_folder()


@lru_cache(maxsize=2)
def _split(folder: Path, name: str, only: tuple[int, ...]) -> CocoSplit:
    return load_coco(folder, name, only)


class CocoTask:
    """One layer in one detector; first weights, order and augmentation derive from the seed alone."""

    def __init__(self, layer: str, settings: CocoSettings, recipe: TrainingRecipe, seed: int) -> None:
        self.settings, self.seed = settings, seed
        split = settings.trained_split
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_from(seed, 0))
            self.detector = create_detector(settings.model, layer, width=settings.width, settings=settings.detector)
        self.model: nn.Module = self.detector
        self.batches = CocoBatches(
            split,
            settings.images_per_worker,
            settings.image_size,
            seed_from(seed, 1),
            (settings.smallest_scale, settings.largest_scale),
            settings.flips,
            recipe.workers,
            my_workers(recipe.workers),
            settings.loaders,
        )
        self.shown_at, self.shown = -1, dict[str, bytes]()
        self.turns: tuple[Turn, ...] = (Turn("detector", self.model, self._losses, undecayed(self.model)),)

    def _losses(self, batch: PicturesWithObjects) -> Losses:
        pictures, objects = batch
        losses = self.detector(pictures, objects)
        assert isinstance(losses, dict), "a detector in training gives losses"
        return losses

    def batch(self, step: int, worker: int, turn: int) -> PicturesWithObjects:
        assert turn == 0, "a detector has one turn a step"
        return self.batches.batch(step, worker)

    def measure(self, step: int) -> tuple[Measure, ...]:
        """The six columns of the paper's table; this rank looks at its share of the pictures."""
        split = self.settings.measured_split
        results: list[Result] = []
        for found in self.find(split.pictures[rank() :: ranks()], step):
            self._show(found, step)
            results.extend(found.results())
        results = _everyones(results)
        numbers = [each.number for each in split.pictures]
        return tuple(
            Measure(f"{what} {column}", value)
            for what, kind in KINDS
            for column, value in zip(
                COLUMNS, average_precisions(split.annotations, results, kind, numbers), strict=True
            )
        )

    def _show(self, found: FoundObjects, step: int) -> None:
        """Draws the first pictures of a measure, once a step: averaged weights come first and decide."""
        name = f"{found.picture.number:012d}"
        if step != self.shown_at:
            self.shown_at, self.shown = step, {}
        if len(self.shown) < SHOWN and name not in self.shown:
            self.shown[name] = drawing_png(found, self.settings.measured_split.categories)

    def illustrations(self) -> dict[str, bytes]:
        """The first pictures of the latest measure with what was found in them, by their number."""
        return self.shown

    def find(self, pictures: Sequence[CocoPicture], step: int) -> Iterator[FoundObjects]:
        """What the detector sees in pictures after so many steps, with the moments that the settings ask for."""
        settings = self.settings
        with self._moments(step):
            yield from find_objects(self.detector, pictures, settings.image_size, settings.evaluation_batch)

    def _moments(self, step: int) -> AbstractContextManager[None]:
        if not self.settings.moment_batches:
            return nullcontext()
        # made here: the loaders stay at the training's own next batch
        coming = (self.batches.making[step + i, 0] for i in range(self.settings.moment_batches))
        return reestimated_moments(_OnBatches(self.model, seed_from(self.seed, 2, step)), coming)


class _OnBatches(nn.Module):
    """The detector with random numbers of its own for what it samples."""

    def __init__(self, model: nn.Module, seed: int) -> None:
        super().__init__()
        self.model, self.own_seed = model, seed

    def forward(self, *batch: Any) -> Any:
        torch.default_generator.manual_seed(self.own_seed)
        return self.model(*batch)


def undecayed(model: nn.Module) -> set[str]:
    """All but the kernels, as in the paper's code: biases and what belongs to layers."""
    return no_weight_decay(model) | {name for name, _ in model.named_parameters() if name.endswith("bias")}


def _everyones(mine: list[Result]) -> list[Result]:
    """What all ranks have found, in the order of the pictures."""
    if ranks() > 1:
        shares: list[Any] = [None] * ranks()
        dist.all_gather_object(shares, mine)
        mine = [each for share in shares for each in share]
    return sorted(mine, key=lambda each: each["image_id"])


def coco_identity(settings: CocoSettings) -> dict[str, Any]:
    """What decides the figures in place of where the pictures are and how they are shown."""
    splits = {"trained": settings.trained_split, "measured": settings.measured_split}
    pictures = {name: _fingerprint(split.annotations) for name, split in splits.items()}
    return {"data": None, "evaluation_batch": None, "loaders": None, "pictures": pictures}


@lru_cache(maxsize=4)
def _fingerprint(annotations: Path) -> str:
    with annotations.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def coco_size(settings: CocoSettings) -> EpochSize:
    return EpochSize(len(settings.trained_split), settings.images_per_worker)


COCO = TASKS.include("coco", TaskEntry(CocoSettings, CocoTask, coco_size, coco_identity))
