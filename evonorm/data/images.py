"""A data set as values: labelled pictures that stay uint8 until a batch needs them."""

from dataclasses import dataclass

import torch
from torch import Tensor

Channels = tuple[float, float, float]


@dataclass(frozen=True)
class Images:
    """Some of the pictures in `pixels`, those that `rows` names; subsets share the pixels (CIFAR-10: a memory map)."""

    pixels: Tensor  # (all pictures, height, width, 3) uint8, contiguous
    labels: Tensor  # (all pictures,) uint8
    rows: Tensor  # (n,) int64

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class DataSet:
    """Training, validation and test pictures, and how their channels are normalized.

    `name` says which data these are, for printing and for the record. Nothing in a search reads `test`.
    """

    name: str
    training: Images
    validation: Images
    test: Images
    mean: Channels  # of the training pictures, scaled to 0..1
    std: Channels
    classes: int = 10


def split(
    name: str, pixels: Tensor, labels: Tensor, *, validation: int, test: int, mean: Channels, std: Channels
) -> DataSet:
    """The last `test` pictures are for testing; of the others a fixed random choice is kept for validation."""
    rest = len(pixels) - test
    order = torch.randperm(rest, generator=torch.Generator().manual_seed(0))

    def images(rows: Tensor) -> Images:
        return Images(pixels, labels, rows.sort().values)

    return DataSet(
        name,
        training=images(order[validation:]),
        validation=images(order[:validation]),
        test=images(torch.arange(rest, len(pixels))),
        mean=mean,
        std=std,
    )
