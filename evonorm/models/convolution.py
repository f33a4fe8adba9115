"""Convolutions without bias, how wide they are, and what images they accept."""

import math

import torch.nn.functional as F
from torch import Tensor, nn

CHANNEL_MULTIPLE = 8


def conv(in_channels: int, out_channels: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    """A convolution that keeps the size at stride one; the layer behind it brings the bias."""
    kind = DepthwiseConv2d if groups > 1 else nn.Conv2d
    return kind(in_channels, out_channels, kernel, stride, kernel // 2, groups=groups, bias=False)


class DepthwiseConv2d(nn.Conv2d):
    """A convolution with zeros put around maps that are smaller than its kernel, instead of by the library.

    The values are the same, but oneDNN's weight gradient of a depthwise 5x5 convolution on 3x3 maps takes 50 times its
    forward pass otherwise: a tenth (one thread) to a sixth (two) of a training step of EfficientNet-CIFAR.
    """

    def forward(self, x: Tensor) -> Tensor:
        if min(x.shape[2:]) >= self.kernel_size[0]:
            return super().forward(x)
        up, left = self.kernel_size[0] // 2, self.kernel_size[1] // 2
        padded = F.pad(x, (left, left, up, up))
        return F.conv2d(padded, self.weight, self.bias, self.stride, groups=self.groups)


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
