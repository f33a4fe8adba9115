"""ResNet with a feature pyramid (Lin et al. 2017), as in the paper's detection code.

Post-activation, though the paper says "always v2": every v2 backbone has too many activated channels for the
parameter counts of its own table, this one meets them to the last parameter (`docs/detection.md`).
"""

from itertools import pairwise

import torch.nn.functional as F
from torch import Tensor, nn

from evonorm.models.convolution import conv, scaled_channels
from evonorm.models.detect.residual_blocks import EXPANSION, Bottleneck, Sum
from evonorm.models.detect.settings import AfterSum, DetectorShape
from evonorm.models.hole import LayerHole
from evonorm.models.initialization import variance_scaling_, zero_biases

FIRST_LEVEL = 2  # of the first stage's maps


class ResNetFPN(nn.Module):
    """conv 7x7/2, layer, max-pool, four stages of bottlenecks, and the pyramid over all four.

    Arguments:
        blocks: bottlenecks of each stage.
        shape: its levels begin at 2; its channels are the pyramid's.
        width: multiplies the backbone's channels alone: `shape` is scaled already.
    """

    def __init__(
        self, blocks: tuple[int, ...], shape: DetectorShape, layer: LayerHole, width: float, after_sum: AfterSum
    ) -> None:
        super().__init__()
        channels = scaled_channels(64, width)
        self.stem, self.stem_layer = conv(3, channels, 7, 2), layer(channels)
        self.pool = nn.MaxPool2d(3, 2, padding=1)
        self.blocks = nn.ModuleList()
        self.stage_ends: list[int] = []
        stage_channels: list[int] = []
        for stage, count in enumerate(blocks):
            inner = scaled_channels(64 << stage, width)
            for stride in (1 if stage == 0 else 2, *(1,) * (count - 1)):
                self.blocks.append(Bottleneck(channels, inner, stride, layer, after_sum))
                channels = EXPANSION * inner
            self.stage_ends.append(len(self.blocks))
            stage_channels.append(channels)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                variance_scaling_(module.weight)
        self.pyramid = Pyramid(stage_channels, shape, layer)

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        x = self.pool(self.stem_layer(self.stem(images)))
        stages: list[Tensor] = []
        for first, last in pairwise([0, *self.stage_ends]):
            for block in self.blocks[first:last]:
                x = block(x)
            stages.append(x)
        return self.pyramid(stages)


class Pyramid(nn.Module):
    """1x1 laterals, nearest upsampling and sum, a 3x3 convolution on each level, strided ones for levels above.

    A layer without nonlinearity on each finished level and none on the laterals; convolutions have biases.
    """

    def __init__(self, stage_channels: list[int], shape: DetectorShape, layer: LayerHole) -> None:
        super().__init__()
        if shape.levels[0] != FIRST_LEVEL:
            raise ValueError(f"a ResNet's pyramid begins at level {FIRST_LEVEL}, got levels {shape.levels}.")
        channels, above = shape.channels, len(shape.all_levels) - len(stage_channels)
        self.laterals = nn.ModuleList(nn.Conv2d(each, channels, 1) for each in stage_channels)
        self.sum = Sum()
        self.smooth = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in stage_channels)
        self.coarser = nn.ModuleList(nn.Conv2d(channels, channels, 3, 2, padding=1) for _ in range(above))
        self.layers = nn.ModuleList(layer(channels, nonlinearity=False) for _ in shape.all_levels)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.xavier_uniform_(module.weight)  # TensorFlow's default
        zero_biases(self)

    def forward(self, stages: list[Tensor]) -> dict[str, Tensor]:
        merged: list[Tensor] = []
        for lateral, stage in zip(reversed(self.laterals), reversed(stages), strict=True):
            below = lateral(stage)
            merged.insert(0, self.sum(below, F.interpolate(merged[0], scale_factor=2)) if merged else below)
        finished: dict[str, Tensor] = {}
        latest = merged[0]
        for number, layer in enumerate(self.layers):
            latest = self._level(number, merged, latest)
            finished[str(FIRST_LEVEL + number)] = layer(latest)
        return finished

    def _level(self, number: int, merged: list[Tensor], below: Tensor) -> Tensor:
        """A level before its layer; above the stages it is made from the level below."""
        above = number - len(merged)
        if above < 0:
            return self.smooth[number](merged[number])
        return self.coarser[above](below if above == 0 else F.relu(below))
