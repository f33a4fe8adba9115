"""Batches from memory: random crops for training, whole pictures for validation (paper, "Proxy Task on CIFAR-10").

A training batch is a pure function of (seed, step, worker): nothing to save in a checkpoint, nothing to skip on resume.
"""

from collections.abc import Iterator
from functools import lru_cache

import torch
from torch import Tensor

from evonorm.data.images import Channels, Images
from evonorm.data.normalize import line_affine, normalized_lines
from evonorm.foundation import seed_from

Batch = tuple[Tensor, Tensor]  # pictures (n, 3, h, w) float32 in channels_last, labels (n,) int64


class CropBatches:
    """Random square crops of shuffled pictures; every epoch is a new order, an incomplete last batch is left out.

    `batch(step, worker)` gives the same tensors for the same seed, step and logical worker, in any order of calls; the
    workers of a step see different pictures. No flips: the paper names none.
    """

    def __init__(
        self,
        images: Images,
        batch_size: int,
        crop: int,
        mean: Channels,
        std: Channels,
        seed: int,
        workers: int = 1,
    ) -> None:
        height, width = images.pixels.shape[1:3]
        if not 1 <= crop <= min(height, width):
            raise ValueError(f"crop must lie in 1 to {min(height, width)} for {height}x{width} pictures, got {crop}.")
        if not 1 <= batch_size <= len(images):
            raise ValueError(f"batch_size must lie in 1 to {len(images)} (the training pictures), got {batch_size}.")
        self.images, self.batch_size, self.crop, self.seed, self.workers = images, batch_size, crop, seed, workers
        self.batches_per_epoch = len(images) // batch_size
        self.affine = line_affine(mean, std, crop)
        self.order = lru_cache(maxsize=1)(self._order)

    def batch(self, step: int, worker: int = 0) -> Batch:
        number = step * self.workers + worker
        epoch, place = divmod(number, self.batches_per_epoch)
        rows = self.order(epoch)[place * self.batch_size : (place + 1) * self.batch_size]
        generator = torch.Generator().manual_seed(seed_from(self.seed, 1, number))
        crops = random_crops(self.images.pixels, rows, self.crop, generator)
        return normalized_lines(crops, self.affine), self.images.labels[rows].long()

    def _order(self, epoch: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed_from(self.seed, 0, epoch))
        return self.images.rows[torch.randperm(len(self.images), generator=generator)]


def whole_batches(images: Images, batch_size: int, mean: Channels, std: Channels) -> Iterator[Batch]:
    """Every picture once, uncut, in order; the last batch may be smaller."""
    affine = line_affine(mean, std, images.pixels.shape[2])
    for rows in images.rows.split(batch_size):
        yield normalized_lines(images.pixels[rows], affine), images.labels[rows].long()


def random_crops(pixels: Tensor, rows: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """A random `size` x `size` window of each picture, (n, size, size, 3) uint8.

    A line of a crop is `size * 3` neighbouring bytes of the flat array, so that one index_select over a view of all
    such lines fetches the whole batch: 5 times faster than indexing by row and column.
    """
    count, height, width, channels = pixels.shape
    tops = torch.randint(height - size + 1, (len(rows),), generator=generator)
    lefts = torch.randint(width - size + 1, (len(rows),), generator=generator)
    lines = pixels.as_strided((count * height * width - size + 1, size * channels), (channels, 1))
    firsts = (rows * height + tops) * width + lefts  # (n,) the line of each crop's top
    wanted = firsts[:, None] + torch.arange(size) * width  # (n, size)
    return lines.index_select(0, wanted.flatten()).view(len(rows), size, size, channels)
