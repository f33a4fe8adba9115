"""The operations of AutoAugment and RandAugment that move pixels: nearest neighbour, what comes from outside is grey.

The matrices are those of TensorFlow's contrib.image: they say where an output pixel is read. Pictures are (3, height,
width) uint8.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from evonorm.data.photos.operations import FILL

Row = tuple[float, float, float]  # of x, of y, constant


def rotate(picture: Tensor, degrees: float) -> Tensor:
    """About the centre."""
    height, width = picture.shape[1:]
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    x = ((width - 1) - (cos * (width - 1) - sin * (height - 1))) / 2
    y = ((height - 1) - (sin * (width - 1) + cos * (height - 1))) / 2
    return warped(picture, (cos, -sin, x), (sin, cos, y))


def shear_x(picture: Tensor, level: float) -> Tensor:
    """The upper left corner stays, not the centre."""
    return warped(picture, (1, level, 0), (0, 1, 0))


def shear_y(picture: Tensor, level: float) -> Tensor:
    return warped(picture, (1, 0, 0), (level, 1, 0))


def translate_x(picture: Tensor, pixels: float) -> Tensor:
    """To the left, if positive."""
    return warped(picture, (1, 0, pixels), (0, 1, 0))


def translate_y(picture: Tensor, pixels: float) -> Tensor:
    """Up, if positive."""
    return warped(picture, (1, 0, 0), (0, 1, pixels))


def warped(picture: Tensor, across: Row, down: Row) -> Tensor:
    """Output pixel (x, y) is the one nearest to (across, down) of (x, y, 1)."""
    height, width = picture.shape[1:]
    x, y = torch.arange(width, dtype=torch.float32), torch.arange(height, dtype=torch.float32)[:, None]
    column, row = _nearest(x, y, across), _nearest(x, y, down)  # (h, w), or one axis of 1 where it does not matter
    inside = ((column >= 0) & (column < width)) & ((row >= 0) & (row < height))
    places = (row * width + column).where(inside, height * width).long()  # behind the last pixel comes a grey one
    pixels = F.pad(picture.flatten(1), (0, 1), value=FILL)
    return pixels.gather(1, places.flatten().expand(3, -1)).view(picture.shape)


def _nearest(x: Tensor, y: Tensor, of: Row) -> Tensor:
    """Halves go away from zero, as in C."""
    place = of[0] * x + of[1] * y if of[0] and of[1] else of[0] * x if of[0] else of[1] * y
    place = place + of[2]
    return (place + torch.copysign(torch.tensor(0.5), place)).trunc()
