"""The operations of AutoAugment and RandAugment that keep pixels in place, in TensorFlow's arithmetic.

As in efficientnet/autoaugment.py of the official code every picture in between is bytes, and a fraction is cut off, not
rounded. Pictures are (3, height, width) uint8.
"""

import numpy as np
import torch
from torch import Tensor

GREY = (0.2989, 0.5870, 0.1140)  # of red, green and blue
FILL = 128
LEVELS = torch.arange(256, dtype=torch.uint8)


def autocontrast(picture: Tensor) -> Tensor:
    """Each channel stretched to 0 to 255; one of a single value stays."""
    return torch.stack([mapped(channel, _stretched(*channel.aminmax())) for channel in picture])


def _stretched(low: Tensor, high: Tensor) -> Tensor:
    if low == high:
        return LEVELS
    scale = 255 / (high.float() - low.float())
    return _bytes(LEVELS * scale - low.float() * scale)


def equalize(picture: Tensor) -> Tensor:
    """Each channel mapped so that its levels are about equally frequent."""
    return torch.stack([mapped(channel, _equalizing(channel)) for channel in picture])


def _equalizing(channel: Tensor) -> Tensor:
    counts = torch.from_numpy(np.bincount(channel.numpy().ravel(), minlength=256))  # torch's takes five times as long
    step = int(counts.sum() - counts[int(channel.max())]) // 255
    if step == 0:
        return LEVELS
    below = torch.cat([counts.new_zeros(1), (counts.cumsum(0)[:-1] + step // 2) // step])
    return below.clamp(0, 255).to(torch.uint8)


def invert(picture: Tensor) -> Tensor:
    return 255 - picture


def posterize(picture: Tensor, bits: int) -> Tensor:
    """Keeps the upper bits. TensorFlow's shift is a byte too and at most 7, so that 0 bits, or 9 and more, keep one."""
    shift = min((8 - bits) % 256, 7)
    return (picture >> shift) << shift


def solarize(picture: Tensor, threshold: int) -> Tensor:
    """Inverts what is not below the threshold, which is a byte: 256, at magnitude 10, is 0 and inverts everything."""
    return mapped(picture, torch.where(LEVELS.ge(threshold % 256), 255 - LEVELS, LEVELS))


def solarize_add(picture: Tensor, addition: int) -> Tensor:
    """Adds to what is below 128."""
    return mapped(picture, torch.where(LEVELS < 128, _bytes(LEVELS.int() + addition), LEVELS))


def color(picture: Tensor, factor: float) -> Tensor:
    return blend(_grey(picture).expand_as(picture), picture, factor)


def contrast(picture: Tensor, factor: float) -> Tensor:
    return _away_from(int(_grey(picture).float().mean()), picture, factor)


def contrast_with_bug(picture: Tensor, factor: float) -> Tensor:
    """The official code sums a histogram's counts where it means the levels: 196 at 224 pixels, 16 at 64."""
    return _away_from(min(picture.shape[1] * picture.shape[2] // 256, 255), picture, factor)


def brightness(picture: Tensor, factor: float) -> Tensor:
    return _away_from(0, picture, factor)


def sharpness(picture: Tensor, factor: float) -> Tensor:
    """Away from a mean over 3 x 3 pixels, in which the centre counts five times; the rim stays.

    In whole numbers: TensorFlow's floats fall below some means that are whole, so that one value in 300 differs.
    """
    wide = picture.short()
    rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
    total = rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:] + 4 * wide[:, 1:-1, 1:-1]
    smooth = picture.clone()
    smooth[:, 1:-1, 1:-1] = total // 13
    return blend(smooth, picture, factor)


def cut_out(picture: Tensor, pad: int, row: int, column: int) -> Tensor:
    """Greys a square of 2 x pad pixels around a place, as far as it is inside."""
    after = picture.clone()
    after[:, max(0, row - pad) : row + pad, max(0, column - pad) : column + pad] = FILL
    return after


def blend(start: Tensor, picture: Tensor, factor: float) -> Tensor:
    """From `start` (factor 0) to the picture (1) and beyond."""
    if factor in (0, 1):
        return picture if factor else start
    level = start.float()
    return _bytes(level + factor * (picture.float() - level))


def mapped(pixels: Tensor, table: Tensor) -> Tensor:
    """Every level replaced by its entry of the table, (256,) uint8; bytes are translated faster than any tensor."""
    after = bytearray(pixels.contiguous().numpy()).translate(table.numpy().tobytes())
    return torch.frombuffer(after, dtype=torch.uint8).view(pixels.shape)


def _away_from(level: int, picture: Tensor, factor: float) -> Tensor:
    return mapped(picture, blend(torch.full_like(LEVELS, level), LEVELS, factor))


def _grey(picture: Tensor) -> Tensor:
    """(1, height, width) uint8; TensorFlow goes through 0 to 1 and comes back by 255.5."""
    red, green, blue = picture.float() * (1 / 255)
    return _bytes((red * GREY[0] + green * GREY[1] + blue * GREY[2]) * 255.5)[None]


def _bytes(values: Tensor) -> Tensor:
    return values.clamp(0, 255).to(torch.uint8)
