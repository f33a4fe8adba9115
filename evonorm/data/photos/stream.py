"""The endless stream of photos that a training sees: one permutation after the other, nothing left out between them."""

from functools import lru_cache

import numpy as np
import torch

from evonorm.foundation import seed_from

ORDER, PICTURE = 0, 1  # what a random stream is for


class PhotoStream:
    """Position p of the stream is place p % n of epoch p // n; every epoch has an order of its own."""

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.seed = count, seed
        self.order = lru_cache(maxsize=2)(self._order)  # of two epochs: 26 ms for ImageNet's, and batches straddle them

    def place(self, position: int) -> tuple[int, int]:
        """Epoch and place in it."""
        return divmod(position, self.count)

    def index(self, epoch: int, place: int) -> int:
        return int(self.order(epoch)[place % self.count])

    def picture_seed(self, epoch: int, index: int) -> int:
        return seed_from(self.seed, PICTURE, epoch, index)

    def __reduce__(self) -> tuple[type["PhotoStream"], tuple[int, int]]:
        return PhotoStream, (self.count, self.seed)

    def _order(self, epoch: int) -> np.ndarray:
        generator = torch.Generator().manual_seed(seed_from(self.seed, ORDER, epoch))
        return torch.randperm(self.count, generator=generator).numpy()
