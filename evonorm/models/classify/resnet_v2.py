"""Pre-activation ResNets (He et al. 2016): the paper's R-50 and, with other strides, ResNet50-CIFAR.

"v2" because there a ReLU always follows its BatchNorm directly, so one layer can replace the two.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from evonorm.models.convolution import check_images, conv, scaled_channels
from evonorm.models.hole import LayerHole
from evonorm.models.initialization import variance_scaling_, zero_biases

BLOCKS = {26: (2, 2, 2, 2), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
EXPANSION = 4


@dataclass(frozen=True)
class BottleneckGroup:
    """Bottlenecks of one size; the first of them strides and changes the number of channels."""

    channels: int  # inside the bottleneck; EXPANSION times as many outside
    blocks: int
    stride: int


def stages_of_depth(depth: int) -> tuple[BottleneckGroup, ...]:
    """The four stages of ResNet-26, -50, -101 or -152 for ImageNet."""
    if depth not in BLOCKS:
        raise ValueError(f"there is no ResNet-{depth}; known depths: {', '.join(map(str, BLOCKS))}.")
    first, *others = BLOCKS[depth]
    return (BottleneckGroup(64, first, 1), *(BottleneckGroup(128 * 2**i, blocks, 2) for i, blocks in enumerate(others)))


class Bottleneck(nn.Module):
    """layer 1x1 layer 3x3 layer 1x1, added to the input (paper, Figure "Block definitions", left).

    Where the shape changes, the shortcut is a 1x1 convolution of the first layer's output.
    """

    def __init__(self, in_channels: int, channels: int, stride: int, layer: LayerHole) -> None:
        super().__init__()
        out_channels = EXPANSION * channels
        self.layer1 = layer(in_channels)
        self.reduce = conv(in_channels, channels, 1)
        self.layer2 = layer(channels)
        self.spatial = conv(channels, channels, 3, stride)
        self.layer3 = layer(channels)
        self.restore = conv(channels, out_channels, 1)
        changes_shape = stride != 1 or in_channels != out_channels
        self.shortcut = conv(in_channels, out_channels, 1, stride) if changes_shape else None

    def forward(self, x: Tensor) -> Tensor:
        active = self.layer1(x)
        shortcut = x if self.shortcut is None else self.shortcut(active)
        y = self.spatial(self.layer2(self.reduce(active)))
        return self.restore(self.layer3(y)) + shortcut


class ResNetV2(nn.Module):
    """Stem without a layer, stages of bottlenecks, one last layer, pooling, dense.

    Arguments:
        stages: from the widest map to the smallest.
        layer: fills every position.
        num_classes: of the dense layer.
        width: channel multiplier.
        stem_channels, stem_stride: of the 7x7 convolution; a 3x3 max-pool of stride two follows it.
    """

    def __init__(
        self,
        stages: tuple[BottleneckGroup, ...],
        layer: LayerHole,
        num_classes: int,
        width: float = 1.0,
        stem_channels: int = 64,
        stem_stride: int = 2,
    ) -> None:
        super().__init__()
        channels = scaled_channels(stem_channels, width)
        self.stride = stem_stride * 2
        self.stem = conv(3, channels, 7, stem_stride)
        self.pool = nn.MaxPool2d(3, 2, padding=1)
        self.blocks = nn.Sequential()
        for stage in stages:
            self.stride *= stage.stride
            for stride in (stage.stride, *(1,) * (stage.blocks - 1)):
                inner = scaled_channels(stage.channels, width)
                self.blocks.append(Bottleneck(channels, inner, stride, layer))
                channels = EXPANSION * inner
        self.last_layer = layer(channels)
        self.classifier = nn.Linear(channels, num_classes)
        initialize(self)

    def forward(self, images: Tensor) -> Tensor:
        check_images(images, self.stride)
        x = self.blocks(self.pool(self.stem(images)))
        return self.classifier(self.last_layer(x).mean((2, 3)))


def initialize(model: ResNetV2) -> None:
    """Convolutions by TensorFlow's variance scaling, dense N(0, 0.01), as the official ResNet of EvoNorm's authors."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            variance_scaling_(module.weight)
    nn.init.normal_(model.classifier.weight, std=0.01)
    zero_biases(model)
