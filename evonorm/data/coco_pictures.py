"""Pictures with their objects as a detector is trained and judged on them: fitted into a square, zeros around.

As the paper's code does it: resized so that the longer side is the square's (times a random scale in training), cut at
random where that is larger, put at the top left where it is smaller. A sample is a pure function of (seed, epoch,
index), so that there is nothing to save in a checkpoint and nothing to skip on resume.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from evonorm.data.coco import CocoPicture, CocoSplit, decode_mask
from evonorm.data.mask_crops import crop_masks
from evonorm.data.normalize import IMAGENET_MEAN, IMAGENET_STD
from evonorm.data.photos.ahead import Ahead
from evonorm.data.photos.stream import PhotoStream
from evonorm.foundation import needs

Objects = dict[str, Tensor]  # boxes (n, 4) as x1, y1, x2, y2; labels (n,); mask_crops (n, 112, 112)
PicturesWithObjects = tuple[Tensor, list[Objects]]  # (n, 3, size, size) in channels_last


@dataclass(frozen=True)
class Fit:
    """How a picture lies in the square: scaled to (height, width), then cut at (top, left)."""

    height: int
    width: int
    top: int = 0
    left: int = 0

    def boxes(self, boxes: Tensor, picture: CocoPicture) -> Tensor:
        """Boxes of the picture in the square, not yet cut to it."""
        return boxes * self._scale(picture) - torch.tensor([self.left, self.top] * 2)

    def original_boxes(self, boxes: Tensor, picture: CocoPicture) -> Tensor:
        """Boxes of the square in the picture."""
        return (boxes + torch.tensor([self.left, self.top] * 2)) / self._scale(picture)

    def _scale(self, picture: CocoPicture) -> Tensor:
        return torch.tensor([self.width / picture.width, self.height / picture.height] * 2)


def fit_into(picture: CocoPicture, size: int, scale: float = 1.0, shares: tuple[float, float] = (0.0, 0.0)) -> Fit:
    """The largest size with the picture's proportions within `scale` times the square.

    `shares`, 0 to 1, say how much of what is too high and too wide is cut at the top and at the left.
    """
    within = max(1, round(scale * size))
    factor = min(within / picture.height, within / picture.width)
    height, width = max(1, round(picture.height * factor)), max(1, round(picture.width * factor))
    top, left = (int(share * max(0, side - size)) for share, side in zip(shares, (height, width), strict=True))
    return Fit(height, width, top, left)


def read_pixels(picture: CocoPicture) -> Tensor:
    """(3, height, width) uint8; grey pictures become three equal channels."""
    with needs("vision", "reading pictures"):
        from PIL import Image
    with Image.open(picture.path) as file:
        pixels = np.array(file.convert("RGB"))
    if pixels.shape[:2] != (picture.height, picture.width):
        raise ValueError(
            f"{picture.path} has {pixels.shape[0]}x{pixels.shape[1]} pixels, its annotations are for"
            f" {picture.height}x{picture.width}. The two do not belong together."
        )
    return torch.from_numpy(pixels).permute(2, 0, 1)


def in_square(pixels: Tensor, fit: Fit, size: int) -> Tensor:
    """(3, size, size) float32, normalized, zeros where there is no picture."""
    resized = F.interpolate(pixels[None], (fit.height, fit.width), mode="bilinear", antialias=True)[0]
    cut = resized[:, fit.top : fit.top + size, fit.left : fit.left + size].float() / 255
    normal = (cut - torch.tensor(IMAGENET_MEAN).view(3, 1, 1)) / torch.tensor(IMAGENET_STD).view(3, 1, 1)
    return F.pad(normal, (0, size - normal.shape[2], 0, size - normal.shape[1]))


def objects_in_square(picture: CocoPicture, fit: Fit, size: int, flipped: bool) -> Objects:
    """The objects that the square shows, cut to it; crowds are left out."""
    chosen = [each for each in picture.objects if not each.is_crowd]
    boxes = torch.tensor([each.box for each in chosen], dtype=torch.float32).view(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    if flipped:
        boxes[:, [0, 2]] = picture.width - boxes[:, [2, 0]]
    boxes = fit.boxes(boxes, picture).clamp(0, size)
    boxes[:, [0, 2]] = boxes[:, [0, 2]].clamp(max=fit.width - fit.left)
    boxes[:, [1, 3]] = boxes[:, [1, 3]].clamp(max=fit.height - fit.top)
    seen = (boxes[:, 2:] > boxes[:, :2]).all(1)
    shown = [each for each, yes in zip(chosen, seen.tolist(), strict=True) if yes]
    masks = torch.zeros(len(shown), picture.height, picture.width, dtype=torch.uint8)
    for mask, each in zip(masks, shown, strict=True):
        mask.copy_(torch.from_numpy(decode_mask(each.segmentation, picture.height, picture.width)))
    boxes = boxes[seen]
    return {
        "boxes": boxes,
        "labels": torch.tensor([each.category for each in shown], dtype=torch.int64),
        "mask_crops": crop_masks(masks.flip(2) if flipped else masks, fit.original_boxes(boxes, picture)),
    }


def evaluation_picture(picture: CocoPicture, size: int) -> tuple[Tensor, Fit]:
    """The whole picture in the square, and how it lies there."""
    fit = fit_into(picture, size)
    return in_square(read_pixels(picture), fit, size), fit


class CocoBatches:
    """Shuffled pictures with flips and scales; every epoch is a new order, and batches run on across epochs.

    `batch(step, worker)` gives the same for the same seed, step and worker, whatever the number of loaders.

    Arguments:
        split: the pictures.
        batch_size: of one logical worker.
        size: side of the square.
        scales: smallest and largest random scale; (1, 1) neither scales nor cuts.
        flips: whether half of the pictures are mirrored.
        workers: logical ones, which see different pictures of one stream.
        mine: those of them that are asked for in this process; all by default.
        loaders: processes that make batches ahead of time; 0 makes them in this one.
    """

    def __init__(
        self,
        split: CocoSplit,
        batch_size: int,
        size: int,
        seed: int,
        scales: tuple[float, float] = (1.0, 1.0),
        flips: bool = True,
        workers: int = 1,
        mine: range | None = None,
        loaders: int = 0,
    ) -> None:
        if len(split) == 0:
            raise ValueError(f"{split.annotations} has no pictures to train on.")
        self.making = TrainingSquares(split, batch_size, size, seed, scales, flips, workers)
        self._ahead = Ahead(self.making, range(workers) if mine is None else mine, loaders)

    def batch(self, step: int, worker: int = 0) -> PicturesWithObjects:
        found: PicturesWithObjects = self._ahead.get(step, worker)
        return found

    def close(self) -> None:
        """Ends the loaders; a batch that is asked for later starts them again."""
        self._ahead.close()


@dataclass(frozen=True)
class TrainingSquares:
    """The batch of one logical worker at one step, by (step, worker); the fields are those of `CocoBatches`."""

    split: CocoSplit
    batch_size: int
    size: int
    seed: int
    scales: tuple[float, float]
    flips: bool
    workers: int

    @cached_property
    def stream(self) -> PhotoStream:
        return PhotoStream(len(self.split), self.seed)

    def __getitem__(self, key: tuple[int, int]) -> PicturesWithObjects:
        step, worker = key
        first = (step * self.workers + worker) * self.batch_size
        places = (self.stream.place(first + k) for k in range(self.batch_size))
        return stacked([self.sample(epoch, self.stream.index(epoch, place)) for epoch, place in places])

    def sample(self, epoch: int, index: int) -> tuple[Tensor, Objects]:
        """The picture number `index` of the split as the epoch shows it."""
        picture = self.split.pictures[index]
        generator = torch.Generator().manual_seed(self.stream.picture_seed(epoch, index))
        flip, scale, top, left = torch.rand(4, generator=generator).tolist()
        flipped = self.flips and flip < 0.5
        low, high = self.scales
        fit = fit_into(picture, self.size, low + (high - low) * scale, (top, left))
        pixels = read_pixels(picture)
        shown = in_square(pixels.flip(2) if flipped else pixels, fit, self.size)
        return shown, objects_in_square(picture, fit, self.size, flipped)


def stacked(samples: Sequence[tuple[Tensor, Objects]]) -> PicturesWithObjects:
    pictures = torch.stack([pixels for pixels, _ in samples])
    return pictures.contiguous(memory_format=torch.channels_last), [objects for _, objects in samples]
