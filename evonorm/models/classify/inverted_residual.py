"""What MobileNetV2, MnasNet and EfficientNet share: the inverted residual block and the net around it."""

import dataclasses
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from evonorm.models.convolution import check_images, conv, scaled_channels
from evonorm.models.hole import LayerHole


@dataclass(frozen=True)
class InvertedGroup:
    """A row of a family's table: blocks of one size, the first of which strides and changes the channels."""

    expansion: int
    channels: int
    blocks: int
    stride: int
    kernel: int = 3


@dataclass(frozen=True)
class Trunk:
    """Everything of a net but its layers: channels as built, already scaled.

    Arguments:
        stem_channels, stem_stride: of the first 3x3 convolution.
        stages: the blocks.
        head_channels: of the last 1x1 convolution.
        squeeze_excite: whether each block has it behind its depthwise layer.
        dropout: rate before the dense layer.
        stochastic_depth: rate at which the last residual branch is dropped; it grows linearly from zero.
    """

    stem_channels: int
    stages: tuple[InvertedGroup, ...]
    head_channels: int
    stem_stride: int = 2
    squeeze_excite: bool = False
    dropout: float = 0.2
    stochastic_depth: float = 0.0


def scaled_stages(stages: tuple[InvertedGroup, ...], width: float, depth: float = 1.0) -> tuple[InvertedGroup, ...]:
    """The table with its channels and its numbers of blocks multiplied; blocks are rounded up."""
    return tuple(
        dataclasses.replace(
            stage, channels=scaled_channels(stage.channels, width), blocks=math.ceil(stage.blocks * depth)
        )
        for stage in stages
    )


class SqueezeExcite(nn.Module):
    """Scales each channel by a sigmoid of a small net's view of all channel means; its SiLU is its own."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.excite = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        means = x.mean((2, 3), keepdim=True)  # (b, c, 1, 1)
        return x * torch.sigmoid(self.excite(nn.functional.silu(self.squeeze(means))))


class StochasticDepth(nn.Module):
    """Drops a residual branch for whole samples while training and scales the kept ones up (Huang et al. 2016)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, branch: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return branch
        keep = 1 - self.rate
        kept = torch.empty(len(branch), 1, 1, 1, dtype=branch.dtype, device=branch.device).bernoulli_(keep)
        return branch * (kept / keep)

    def extra_repr(self) -> str:
        return f"rate={self.rate:.3g}"


class InvertedResidual(nn.Module):
    """1x1 up, layer, depthwise, layer, [squeeze-excite], 1x1 down, layer without nonlinearity, [+ input].

    The paper's Figure "Block definitions", center (MobileNetV2) and right (EfficientNet, with squeeze-excite).
    Without expansion the first convolution and its layer are missing.
    """

    def __init__(
        self,
        in_channels: int,
        stage: InvertedGroup,
        stride: int,
        layer: LayerHole,
        squeeze_excite: bool = False,
        drop_rate: float = 0.0,
    ) -> None:
        super().__init__()
        inner = in_channels * stage.expansion
        expands = stage.expansion != 1
        self.expand = conv(in_channels, inner, 1) if expands else None
        self.expand_layer = layer(inner) if expands else None
        self.depthwise = conv(inner, inner, stage.kernel, stride, groups=inner)
        self.depthwise_layer = layer(inner)
        self.squeeze_excite = SqueezeExcite(inner, max(1, in_channels // 4)) if squeeze_excite else None
        self.project = conv(inner, stage.channels, 1)
        self.project_layer = layer(stage.channels, nonlinearity=False)
        has_shortcut = stride == 1 and in_channels == stage.channels
        self.drop = StochasticDepth(drop_rate) if has_shortcut else None

    def forward(self, x: Tensor) -> Tensor:
        y = x
        if self.expand is not None and self.expand_layer is not None:
            y = self.expand_layer(self.expand(y))
        y = self.depthwise_layer(self.depthwise(y))
        if self.squeeze_excite is not None:
            y = self.squeeze_excite(y)
        y = self.project_layer(self.project(y))
        return y if self.drop is None else x + self.drop(y)


class InvertedResidualNet(nn.Module):
    """Stem and its layer, blocks, head and its layer, pooling, dropout, dense."""

    def __init__(self, trunk: Trunk, layer: LayerHole, num_classes: int) -> None:
        super().__init__()
        self.stem = conv(3, trunk.stem_channels, 3, trunk.stem_stride)
        self.stem_layer = layer(trunk.stem_channels)
        self.blocks = make_blocks(trunk, layer)
        self.head = conv(trunk.stages[-1].channels, trunk.head_channels, 1)
        self.head_layer = layer(trunk.head_channels)
        self.dropout = nn.Dropout(trunk.dropout)
        self.classifier = nn.Linear(trunk.head_channels, num_classes)
        self.stride = trunk.stem_stride * math.prod(stage.stride for stage in trunk.stages)

    def forward(self, images: Tensor) -> Tensor:
        check_images(images, self.stride)
        x = self.blocks(self.stem_layer(self.stem(images)))
        x = self.head_layer(self.head(x))
        return self.classifier(self.dropout(x.mean((2, 3))))


def make_blocks(trunk: Trunk, layer: LayerHole) -> nn.Sequential:
    total = sum(stage.blocks for stage in trunk.stages)
    blocks = nn.Sequential()
    channels = trunk.stem_channels
    for stage in trunk.stages:
        for stride in (stage.stride, *(1,) * (stage.blocks - 1)):
            drop_rate = trunk.stochastic_depth * len(blocks) / total
            blocks.append(InvertedResidual(channels, stage, stride, layer, trunk.squeeze_excite, drop_rate))
            channels = stage.channels
    return blocks
