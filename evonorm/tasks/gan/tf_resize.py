"""TensorFlow 1's bilinear resize, which published FIDs were computed with: pixel i of n looks at i * old / n.

Without the shift by half a pixel that torch and everybody else has since; with another resize FIDs are others.
"""

from functools import lru_cache

import torch
from torch import Tensor


def tf1_resize(pictures: Tensor, side: int) -> Tensor:
    """(n, c, h, w) of any type to (n, c, side, side) float32, values as they are (0 to 255 for bytes)."""
    down, across = (_weights(old, side).to(pictures.device) for old in pictures.shape[2:])
    return down @ pictures.float() @ across.T


@lru_cache(maxsize=8)
def _weights(old: int, new: int) -> Tensor:
    """(new, old): how much of each old pixel a new one has."""
    place = torch.arange(new, dtype=torch.float32) * torch.tensor(old / new, dtype=torch.float32)  # float32 as TF
    low = place.floor().long()
    share = place - low
    weights = torch.zeros(new, old)
    rows = torch.arange(new)
    weights.index_put_((rows, low.clamp_max(old - 1)), 1 - share, accumulate=True)
    weights.index_put_((rows, (low + 1).clamp_max(old - 1)), share, accumulate=True)
    return weights
