"""Convolutions without bias, how wide they are, and what images they accept."""

import math

from torch import Tensor, nn

CHANNEL_MULTIPLE = 8


def conv(in_channels: int, out_channels: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    """A convolution that keeps the size at stride one; the layer behind it brings the bias."""
    return nn.Conv2d(in_channels, out_channels, kernel, stride, kernel // 2, groups=groups, bias=False)


def scaled_channels(channels: int, width: float) -> int:
    """`channels * width` as MobileNet's official code rounds it: to a multiple of 8, at most 10 % down."""
    wanted = channels * width
    if not (math.isfinite(wanted) and wanted >= 0.5):
        raise ValueError(
            f"width {width!r} leaves no channels: {channels} * {width!r} rounds to zero or is not a number."
            f" Use a width of at least {0.5 / channels:.3g}; 1.0 is the model's own."
        )
    rounded = max(CHANNEL_MULTIPLE, int(wanted + CHANNEL_MULTIPLE / 2) // CHANNEL_MULTIPLE * CHANNEL_MULTIPLE)
    return rounded if rounded >= 0.9 * wanted else rounded + CHANNEL_MULTIPLE


def check_images(images: Tensor, stride: int) -> None:
    """Rejects what the first convolution would reject with less words, and images that the strides use up."""
    if images.ndim != 4 or images.shape[1] != 3:
        raise ValueError(f"expected images (batch, 3, height, width), got shape {tuple(images.shape)}.")
    if min(images.shape[2:]) < stride:
        height, width = images.shape[2:]
        raise ValueError(
            f"images of {height}x{width} are too small: the model's strides divide them by {stride}."
            f" Use at least {stride}x{stride}, or a model with fewer strides such as resnet50-cifar."
        )
