"""The stand-in that needs no download: scikit-learn's 1,797 real handwritten digits, 8x8, scaled up to 32x32 RGB."""

import numpy as np
import torch

from evonorm.data.images import DataSet, split
from evonorm.foundation import needs

VALIDATION, TEST = 300, 297


def load_digits() -> DataSet:
    """1,200 / 300 / 297 pictures for training, validation and testing."""
    with needs("vision", "the stand-in data set 'digits'"):
        from sklearn import datasets  # type: ignore[import-untyped]
    bunch = datasets.load_digits()
    grey = (bunch.images * (255 / 16)).round().astype(np.uint8)  # (1797, 8, 8), values 0..16 in the source
    large = grey.repeat(4, axis=1).repeat(4, axis=2)  # (1797, 32, 32)
    pixels = torch.from_numpy(np.repeat(large[..., None], 3, axis=3))
    labels = torch.from_numpy(bunch.target.astype(np.uint8))
    level, spread = float(large.mean() / 255), float(large.std() / 255)
    return split(
        "digits (8x8 handwritten digits scaled up: a stand-in, not CIFAR-10)",
        pixels,
        labels,
        validation=VALIDATION,
        test=TEST,
        mean=(level, level, level),
        std=(spread, spread, spread),
    )
