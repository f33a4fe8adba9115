"""A part of a photo scaled to a square: as PyTorch's recipes do it, or as TensorFlow 1 did."""

import numpy as np
import torch
from torch import Tensor

from evonorm.data.photos.settings import Interpolation
from evonorm.foundation import needs

A = -0.75  # of the cubic kernel; TensorFlow's later one has -0.5
TABLE = 1024  # its kernel is read from a table of so many steps a pixel


def antialiased(part: Tensor, size: int, interpolation: Interpolation) -> Tensor:
    """(3, h, w) uint8 to (3, size, size) uint8, each pixel a weighted mean of all that it covers."""
    with needs("vision", "scaling photos"):
        from torchvision.transforms.v2 import InterpolationMode  # type: ignore[import-untyped]
        from torchvision.transforms.v2.functional import resize_image  # type: ignore[import-untyped]
    return resize_image(part, [size, size], InterpolationMode(interpolation), antialias=True)


def legacy(part: Tensor, size: int, interpolation: Interpolation) -> Tensor:
    """(3, h, w) uint8 to (3, size, size) float32, as resize_bicubic and resize_bilinear of TensorFlow 1.

    Output pixel i reads around i x scale, without the half pixel that would keep the picture in place, and without
    antialiasing. Bicubic values may lie outside 0 to 255.
    """
    taps = _cubic_taps if interpolation == "bicubic" else _linear_taps
    rows = part.permute(1, 2, 0).float()  # (h, w, 3), as decoders leave it in memory
    tall = _scaled_rows(rows, *taps(rows.shape[0], size))  # (size, w, 3)
    columns = tall.transpose(0, 1).contiguous()
    return _scaled_rows(columns, *taps(columns.shape[0], size)).permute(2, 1, 0)


def _scaled_rows(rows: Tensor, places: Tensor, weights: Tensor) -> Tensor:
    """Output row i is the sum of the rows `places[:, i]` with `weights[:, i]`; whole rows are quick to fetch."""
    total = rows[places[0]] * weights[0].view(-1, 1, 1)
    for place, weight in zip(places[1:], weights[1:], strict=True):
        total.addcmul_(rows[place], weight.view(-1, 1, 1))
    return total


def _locations(length: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The pixel before the place that each output pixel reads, and how far behind it that place is."""
    places = np.arange(size, dtype=np.float32) * (np.float32(length) / np.float32(size))
    before = np.floor(places)
    return before.astype(np.int64), places - before


def _cubic_taps(length: int, size: int) -> tuple[Tensor, Tensor]:
    before, behind = _locations(length, size)
    behind = np.rint(behind * TABLE).astype(np.float32) / TABLE
    weights = [_far(1 + behind), _near(behind), _near(1 - behind), _far(2 - behind)]
    places = (before + np.arange(-1, 3)[:, None]).clip(0, length - 1)
    return torch.from_numpy(places), torch.from_numpy(np.stack(weights).astype(np.float32))


def _linear_taps(length: int, size: int) -> tuple[Tensor, Tensor]:
    before, behind = _locations(length, size)
    places = np.stack([before, before + 1]).clip(0, length - 1)
    return torch.from_numpy(places), torch.from_numpy(np.stack([1 - behind, behind]).astype(np.float32))


def _near(x: np.ndarray) -> np.ndarray:
    """The cubic kernel up to one pixel away."""
    return ((A + 2) * x - (A + 3)) * x * x + 1


def _far(x: np.ndarray) -> np.ndarray:
    """The cubic kernel from one to two pixels away."""
    return ((A * x - 5 * A) * x + 8 * A) * x - 4 * A
