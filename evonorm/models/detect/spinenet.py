"""SpineNet (Du et al. 2020): a backbone whose maps go up and down in size, so that it needs no pyramid behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from evonorm.models.convolution import conv
from evonorm.models.detect.residual_blocks import EXPANSION, Bottleneck, PlainResidual, ResidualBlock, Sum
from evonorm.models.detect.settings import AfterSum, DetectorShape
from evonorm.models.hole import LayerHole
from evonorm.models.initialization import variance_scaling_

FILTERS = {2: 64, 3: 128, 4: 256, 5: 256, 6: 256, 7: 256}  # by level
STEM_BLOCKS = 2  # at level 2: numbers 0 and 1 of the inputs below


@dataclass(frozen=True)
class SpineBlock:
    """A block of the searched net; inputs count the two of the stem."""

    level: int
    kind: Literal["bottleneck", "residual"]
    inputs: tuple[int, int]
    is_output: bool = False

    def channels(self, scale: float) -> int:
        """Inside a bottleneck, or of a plain residual."""
        return int(FILTERS[self.level] * scale)

    def out_channels(self, scale: float) -> int:
        return self.channels(scale) * (EXPANSION if self.kind == "bottleneck" else 1)


STEM = (SpineBlock(2, "bottleneck", (-1, -1)),) * STEM_BLOCKS
BLOCKS = (
    SpineBlock(2, "bottleneck", (0, 1)),
    SpineBlock(4, "residual", (0, 1)),
    SpineBlock(3, "bottleneck", (2, 3)),
    SpineBlock(4, "bottleneck", (2, 4)),
    SpineBlock(6, "residual", (3, 5)),
    SpineBlock(4, "bottleneck", (3, 5)),
    SpineBlock(5, "residual", (6, 7)),
    SpineBlock(7, "residual", (6, 8)),
    SpineBlock(5, "bottleneck", (8, 9)),
    SpineBlock(5, "bottleneck", (8, 10)),
    SpineBlock(4, "bottleneck", (5, 10), is_output=True),
    SpineBlock(3, "bottleneck", (4, 10), is_output=True),
    SpineBlock(5, "bottleneck", (7, 12), is_output=True),
    SpineBlock(7, "bottleneck", (5, 14), is_output=True),
    SpineBlock(6, "bottleneck", (12, 14), is_output=True),
)


@dataclass(frozen=True)
class SpineScale:
    """How a SpineNet is scaled: repeats of each block, share of channels inside resamplings, all channels."""

    repeats: int
    resample: float = 0.5
    filters: float = 1.0


SCALES = {
    "49s": SpineScale(1, filters=0.65),
    "49": SpineScale(1),
    "96": SpineScale(2),
    "143": SpineScale(3, resample=1.0),
}


class SpineNet(nn.Module):
    """The stem, its two groups of level 2, the searched blocks, and a 1x1 convolution with a layer on each output.

    Arguments:
        scale: one of SCALES, times the width.
        shape: its levels are 3 to 7; its channels are those of the outputs.
    """

    def __init__(self, scale: SpineScale, shape: DetectorShape, layer: LayerHole, after_sum: AfterSum) -> None:
        super().__init__()
        outputs = {block.level: STEM_BLOCKS + i for i, block in enumerate(BLOCKS) if block.is_output}
        if set(outputs) != set(shape.all_levels):
            raise ValueError(f"a SpineNet has the levels {sorted(outputs)}, got {list(shape.all_levels)}.")
        stem = 64
        self.stem, self.stem_layer = conv(3, stem, 7, 2), layer(stem)
        self.pool = nn.MaxPool2d(3, 2, padding=1)
        inner = STEM[0].channels(scale.filters)
        self.blocks = nn.ModuleList(
            block_group("bottleneck", before, inner, scale.repeats, layer, after_sum)
            for before in (stem, EXPANSION * inner)
        )
        self.blocks.extend(MergedGroup(block, scale, layer, after_sum) for block in BLOCKS)
        self.leftovers = leftovers()
        self.outputs = {str(level): outputs[level] for level in shape.all_levels}
        self.endpoints = nn.ModuleDict(
            {
                str(block.level): nn.Sequential(
                    conv(block.out_channels(scale.filters), shape.channels, 1), layer(shape.channels)
                )
                for block in BLOCKS
                if block.is_output
            }
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                variance_scaling_(module.weight)

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        x = self.pool(self.stem_layer(self.stem(images)))
        maps: list[Tensor] = []
        for group in self.blocks[:STEM_BLOCKS]:
            x = group(x)
            maps.append(x)
        for number, (block, group) in enumerate(zip(BLOCKS, self.blocks[STEM_BLOCKS:], strict=True)):
            first, second = block.inputs
            maps.append(group(maps[first], maps[second], [maps[i] for i in self.leftovers[number]]))
        return {level: self.endpoints[level](maps[number]) for level, number in self.outputs.items()}


def leftovers() -> tuple[tuple[int, ...], ...]:
    """For each block, the earlier blocks that its sum takes in as well.

    An output takes in every earlier block of its shape that nothing has read so far.
    """
    every, read, found = [*STEM, *BLOCKS], set[int](), []
    for number, block in enumerate(BLOCKS, start=STEM_BLOCKS):
        read.update(block.inputs)
        taken = tuple(
            i
            for i, each in enumerate(every[:number])
            if block.is_output and i not in read and (each.level, each.kind) == (block.level, block.kind)
        )
        read.update(taken)
        found.append(taken)
    return tuple(found)


def block_group(
    kind: str, in_channels: int, channels: int, repeats: int, layer: LayerHole, after_sum: AfterSum
) -> nn.Sequential:
    """Equal blocks; the first may project."""
    make: type[Bottleneck | PlainResidual] = Bottleneck if kind == "bottleneck" else PlainResidual
    blocks: list[ResidualBlock] = [make(in_channels, channels, 1, layer, after_sum)]
    while len(blocks) < repeats:
        blocks.append(make(blocks[-1].out_channels, channels, 1, layer, after_sum))
    return nn.Sequential(*blocks)


class MergedGroup(nn.Module):
    """Two earlier maps brought to the block's size and summed, with the leftovers, then the block's repeats."""

    def __init__(self, block: SpineBlock, scale: SpineScale, layer: LayerHole, after_sum: AfterSum) -> None:
        super().__init__()
        every = (*STEM, *BLOCKS)
        self.resample = nn.ModuleList(Resample(every[i], block, scale, layer) for i in block.inputs)
        self.sum = Sum(after_sum)
        channels = block.channels(scale.filters)
        before = block.out_channels(scale.filters)
        self.group = block_group(block.kind, before, channels, scale.repeats, layer, after_sum)

    def forward(self, first: Tensor, second: Tensor, unread: Sequence[Tensor]) -> Tensor:
        return self.group(self.sum(self.resample[0](first), self.resample[1](second), *unread))


class Resample(nn.Module):
    """1x1 down to a share of the channels, layer; down or up in size; 1x1 to the target's, layer without activation.

    Down is a strided 3x3 convolution, a layer and, for more than a factor of two, a max-pool; up is nearest.
    """

    def __init__(self, source: SpineBlock, target: SpineBlock, scale: SpineScale, layer: LayerHole) -> None:
        super().__init__()
        inner = int(source.channels(scale.filters) * scale.resample)
        out_channels = target.out_channels(scale.filters)
        self.squeeze_channels, self.layer1 = conv(source.out_channels(scale.filters), inner, 1), layer(inner)
        self.ratio = 2.0 ** (target.level - source.level)
        self.shrink = shrinking(int(self.ratio), inner, layer) if self.ratio > 1 else None
        self.restore, self.layer2 = conv(inner, out_channels, 1), layer(out_channels, nonlinearity=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer1(self.squeeze_channels(x))
        if self.shrink is not None:
            x = self.shrink(x)
        elif self.ratio < 1:
            x = F.interpolate(x, scale_factor=1 / self.ratio)
        return self.layer2(self.restore(x))


def shrinking(ratio: int, channels: int, layer: LayerHole) -> nn.Sequential:
    steps: list[nn.Module] = [conv(channels, channels, 3, 2), layer(channels)]
    if ratio > 2:
        kernel = 3 if ratio <= 4 else 5
        steps.append(nn.MaxPool2d(kernel, ratio // 2, padding=kernel // 2))
    return nn.Sequential(*steps)
