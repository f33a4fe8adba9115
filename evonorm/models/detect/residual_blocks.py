"""Post-activation residual blocks (He et al. 2015, stride in the 3x3), of ResNet-FPN and SpineNet alike.

The last layer of a branch has no nonlinearity; what follows the sum is a plain function without parameters.
"""

from collections.abc import Callable

from torch import Tensor, nn

from evonorm.models.convolution import conv
from evonorm.models.detect.settings import AfterSum
from evonorm.models.hole import LayerHole

EXPANSION = 4
AFTER_SUM: dict[AfterSum, Callable[[], nn.Module]] = {"relu": nn.ReLU, "silu": nn.SiLU, "none": nn.Identity}


class Sum(nn.Module):
    """Maps of one shape, summed, and what follows that."""

    def __init__(self, after_sum: AfterSum = "none") -> None:
        super().__init__()
        self.after_sum = after_sum
        self.active = AFTER_SUM[after_sum]()

    def forward(self, first: Tensor, *others: Tensor) -> Tensor:
        for each in others:
            first = first + each
        return self.active(first)


class ResidualBlock(nn.Module):
    """A branch added to the input, or to its 1x1 projection with a layer where the shape changes."""

    def __init__(self, in_channels: int, out_channels: int, stride: int, layer: LayerHole, after_sum: AfterSum) -> None:
        super().__init__()
        self.out_channels = out_channels
        self.sum = Sum(after_sum)
        if stride != 1 or in_channels != out_channels:
            self.shortcut: nn.Conv2d | None = conv(in_channels, out_channels, 1, stride)
            self.shortcut_layer: nn.Module | None = layer(out_channels, nonlinearity=False)
        else:
            self.shortcut = self.shortcut_layer = None

    def branch(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x
        if self.shortcut is not None and self.shortcut_layer is not None:
            shortcut = self.shortcut_layer(self.shortcut(x))
        return self.sum(self.branch(x), shortcut)


class Bottleneck(ResidualBlock):
    """1x1 layer 3x3 layer 1x1 layer(nonlinearity=False), sum."""

    def __init__(self, in_channels: int, channels: int, stride: int, layer: LayerHole, after_sum: AfterSum) -> None:
        super().__init__(in_channels, EXPANSION * channels, stride, layer, after_sum)
        self.reduce, self.layer1 = conv(in_channels, channels, 1), layer(channels)
        self.spatial, self.layer2 = conv(channels, channels, 3, stride), layer(channels)
        self.restore = conv(channels, self.out_channels, 1)
        self.layer3 = layer(self.out_channels, nonlinearity=False)

    def branch(self, x: Tensor) -> Tensor:
        y = self.layer2(self.spatial(self.layer1(self.reduce(x))))
        return self.layer3(self.restore(y))


class PlainResidual(ResidualBlock):
    """3x3 layer 3x3 layer(nonlinearity=False), sum."""

    def __init__(self, in_channels: int, channels: int, stride: int, layer: LayerHole, after_sum: AfterSum) -> None:
        super().__init__(in_channels, channels, stride, layer, after_sum)
        self.first, self.layer1 = conv(in_channels, channels, 3, stride), layer(channels)
        self.second, self.layer2 = conv(channels, channels, 3), layer(channels, nonlinearity=False)

    def branch(self, x: Tensor) -> Tensor:
        return self.layer2(self.second(self.layer1(self.first(x))))
