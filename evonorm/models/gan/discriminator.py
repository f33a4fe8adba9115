"""BigGAN-deep's discriminator: the same bottlenecks downwards, without normalization, and a projection of the class."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evonorm.models.convolution import check_images
from evonorm.models.gan.attention import SelfAttention
from evonorm.models.gan.generator import NARROWING
from evonorm.models.gan.orthogonal import orthogonal_start
from evonorm.models.gan.spectral_norm import (
    SpectralConv2d,
    SpectralEmbedding,
    SpectralLinear,
    precise,
    without_autocast,
)


class _MeanOfFour(torch.autograd.Function):
    @staticmethod
    def forward(_: Any, x: Tensor) -> Tensor:
        return F.avg_pool2d(x, 2)

    @staticmethod
    def backward(_: Any, gradient: Tensor) -> Tensor:
        return F.interpolate(gradient / 4, scale_factor=2)


class HalfSize(nn.AvgPool2d):
    """Means over 2x2 pixels, whose adjoint is an upsampling: torch's own can take forty times as long in bfloat16."""

    def __init__(self) -> None:
        super().__init__(2)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = _MeanOfFour.apply(x)
        return found


class DiscriminatorBlock(nn.Module):
    """ReLU before each of 1x1, 3x3, 3x3, 1x1; [half as large before the last]; plus the input, widened by a 1x1."""

    def __init__(self, in_channels: int, out_channels: int, downsample: bool) -> None:
        super().__init__()
        inside = out_channels // NARROWING
        self.conv1 = SpectralConv2d(in_channels, inside, 1)
        self.conv2 = SpectralConv2d(inside, inside, 3)
        self.conv3 = SpectralConv2d(inside, inside, 3)
        self.conv4 = SpectralConv2d(inside, out_channels, 1)
        self.downsample = HalfSize() if downsample else None
        new_channels = out_channels - in_channels
        self.shortcut = SpectralConv2d(in_channels, new_channels, 1) if new_channels else None

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv3(F.relu(self.conv2(F.relu(self.conv1(F.relu(x))))))
        h = F.relu(h)
        if self.downsample is not None:
            h, x = self.downsample(h), self.downsample(x)
        if self.shortcut is not None:
            x = torch.cat([x, self.shortcut(x)], 1)
        return x + self.conv4(h)


class Discriminator(nn.Module):
    """How real pictures (n, 3, side, side) of these labels (n,) look: (n,), above 0 for real.

    Arguments:
        channels: behind the first convolution, and behind each pair of blocks.
        downs: how many pairs halve the map.
        attention: the side of the map that self-attention looks at, None for none.
        image_size: of the pictures.
        num_classes: of the projection.
    """

    def __init__(
        self, channels: Sequence[int], downs: int, attention: int | None, image_size: int, num_classes: int
    ) -> None:
        super().__init__()
        self.stride, self.attended = 2**downs, attention
        self.stem = SpectralConv2d(3, channels[0], 3)
        self.blocks = nn.ModuleList()
        for number, (here, below) in enumerate(pairwise(channels)):
            self.blocks.append(DiscriminatorBlock(here, below, downsample=number < downs))
            self.blocks.append(DiscriminatorBlock(below, below, downsample=False))
        self.attention = None
        if attention is not None:
            self.attention = SelfAttention(channels[(image_size // attention).bit_length() - 1])
        self.head = SpectralLinear(channels[-1], 1)
        self.embedding = SpectralEmbedding(num_classes, channels[-1])
        orthogonal_start(self)

    def forward(self, pictures: Tensor, labels: Tensor) -> Tensor:
        check_images(pictures, self.stride)
        x = self.stem(pictures)
        for block in self.blocks:
            x = block(x)
            if self.attention is not None and block.downsample is None and x.shape[2] == self.attended:
                x = self.attention(x)
        with without_autocast(x.device.type):
            features = F.relu(precise(x)).sum((2, 3))  # (n, channels): a sum, not a mean
            return self.head(features).squeeze(1) + (self.embedding(labels) * features).sum(1)
