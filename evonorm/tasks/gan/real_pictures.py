"""Real pictures: those that a discriminator sees, and a fixed choice that generated ones are compared with.

What is held out for validation elsewhere is trained on and compared with here: nothing is chosen on it.
"""

import torch
from torch import Tensor

from evonorm.data import CropBatches, DataSet, Images, load_data
from evonorm.foundation import seed_from

HALF = (0.5, 0.5, 0.5)  # mean and deviation that turn 0 to 255 into -1 to 1


class RealPictures:
    """All pictures of a data set but the test pictures, whole, as numbers of -1 to 1; mirrored at random if asked.

    `batch(number, worker)` gives pictures and labels, the same for the same seed and numbers.
    """

    def __init__(self, data: DataSet, batch_size: int, flips: bool, seed: int, workers: int) -> None:
        images = Images(data.training.pixels, data.training.labels, rows_of(data, "training"))
        side = images.pixels.shape[1]
        self.whole = CropBatches(images, batch_size, side, HALF, HALF, seed_from(seed, 0), workers)
        self.flips, self.seed = flips, seed

    def batch(self, number: int, worker: int) -> tuple[Tensor, Tensor]:
        pictures, labels = self.whole.batch(number, worker)
        if not self.flips:
            return pictures, labels
        generator = torch.Generator().manual_seed(seed_from(self.seed, 1, number, worker))
        mirrored = torch.rand(len(pictures), 1, 1, 1, generator=generator) < 0.5
        return torch.where(mirrored, pictures.flip(3), pictures), labels


def chosen_pictures(name: str, part: str, count: int) -> Tensor:
    """A fixed random choice (n, 3, h, w), as bytes, of a data set's pictures for "training" or for "test"."""
    data = load_data(name)
    rows = rows_of(data, part)
    if not 2 <= count <= len(rows):
        raise ValueError(f"there are {len(rows)} {part} pictures to compare with, asked for {count}.")
    chosen = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed_from(0)))[:count]]
    return data.test.pixels[chosen].permute(0, 3, 1, 2)


def rows_of(data: DataSet, part: str) -> Tensor:
    if part == "test":
        return data.test.rows
    return torch.cat([data.training.rows, data.validation.rows]).sort().values
