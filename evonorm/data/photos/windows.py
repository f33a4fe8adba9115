"""Which part of a photo a picture shows: two laws of random crops, and the centre for evaluation."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

RATIOS = (3 / 4, 4 / 3)  # width to height
TRIES = 10
COVERED = 0.1  # share of the photo that TensorFlow's crop must cover: its object is the whole photo


class Window(NamedTuple):
    """A part of a photo in pixels."""

    top: int
    left: int
    height: int
    width: int

    def cut(self, photo: Tensor) -> Tensor:
        return photo[:, self.top : self.top + self.height, self.left : self.left + self.width]


def centre_window(height: int, width: int, size: int, centre: float) -> Window:
    """The official code's crop for evaluation, a square of `centre` of the short side, in its float32 arithmetic."""
    padding = round(size * (1 / centre - 1))
    side = max(1, int(np.float32(size / (size + padding)) * np.float32(min(height, width))))
    return Window((height - side + 1) // 2, (width - side + 1) // 2, side, side)


def torchvision_window(height: int, width: int, smallest_area: float, generator: torch.Generator) -> Window:
    """RandomResizedCrop: the area is uniform, and so is the logarithm of the ratio."""
    for _ in range(TRIES):
        share, ratio, down, right = torch.rand(4, generator=generator, dtype=torch.float64).tolist()
        area = height * width * (smallest_area + (1 - smallest_area) * share)
        low, high = math.log(RATIOS[0]), math.log(RATIOS[1])
        aspect = math.exp(low + (high - low) * ratio)
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return Window(int(down * (height - h + 1)), int(right * (width - w + 1)), h, w)
    aspect = min(max(width / height, RATIOS[0]), RATIOS[1])
    h, w = min(height, round(width / aspect)), min(width, round(height * aspect))
    return Window((height - h) // 2, (width - w) // 2, h, w)


def tensorflow_window(height: int, width: int, smallest_area: float, generator: torch.Generator) -> Window | None:
    """sample_distorted_bounding_box: the ratio is uniform, then the height between its limits; None if no try succeeds.

    Also None for the whole photo, as the official code cannot tell it from failure and takes the centre crop.
    """
    for _ in range(TRIES):
        draws = torch.rand(4, generator=generator, dtype=torch.float64).tolist()
        window = _tensorflow_try(height, width, smallest_area, draws)
        if window is not None and window.height * window.width >= COVERED * height * width:
            return None if (window.height, window.width) == (height, width) else window
    return None


def _tensorflow_try(height: int, width: int, smallest_area: float, draws: list[float]) -> Window | None:
    aspect = RATIOS[0] + (RATIOS[1] - RATIOS[0]) * draws[0]
    least, most = smallest_area * height * width, float(height * width)
    lowest, highest = round(math.sqrt(least / aspect)), round(math.sqrt(most / aspect))
    if round(highest * aspect) > width:
        highest = int((width + 0.5 - 1e-7) / aspect)
        highest -= round(highest * aspect) > width
    highest = min(highest, height)
    lowest = min(lowest, highest)
    h = lowest + int(draws[1] * (highest - lowest + 1))
    h += round(h * aspect) * h < least  # a rounding error is not a failure
    h -= round(h * aspect) * h > most
    w = round(h * aspect)
    if not (least <= w * h <= most and 0 < w <= width and 0 < h <= height):
        return None
    return Window(int(draws[2] * (height - h)), int(draws[3] * (width - w)), h, w)  # the last place is never drawn
