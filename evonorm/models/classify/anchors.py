"""The nets that a search judges layers on: the paper's three CIFAR anchors, three nano and a thin one for a laptop.

CIFAR anchors: appendix "Proxy Task and Anchor Architectures", read literally. The first two *convolutions* with spatial
reduction get stride one and nothing else changes, so ResNet's max-pool stays and its second stage does not stride.

One starting value is ours: with ten classes and learning rate 0.1 from the first step EvoNorm-B0 blows up where the
features that reach the dense layer are large, so the last layer's gamma starts small, in all but
`efficientnet-b0-cifar` (figures in `docs/models.md`).
"""

import dataclasses
from dataclasses import dataclass

import torch
from torch import nn

from evonorm.foundation import Register
from evonorm.models.classify import efficientnet, mobilenet_v2, resnet_v2
from evonorm.models.classify.inverted_residual import InvertedGroup, InvertedResidualNet, Trunk, scaled_stages
from evonorm.models.convolution import scaled_channels
from evonorm.models.hole import LayerHole, ModelBuilder

LAST_GAMMA = 0.5
LAST_GAMMA_THIN = 0.35  # at 0.5 EvoNorm-B2 blows up with two seeds of four


@dataclass(frozen=True)
class Anchor:
    """A net that layers are judged on, and how it is trained in the proxy task; the defaults are the paper's."""

    name: str
    build: ModelBuilder
    batch_size: int = 128
    crop: int = 24  # training crops
    image_size: int = 32  # validation images
    groups: int = 32  # of moments over (w,h,c/g)


def resnet50_cifar(layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    first, second, *others = resnet_v2.stages_of_depth(50)
    stages = (first, dataclasses.replace(second, stride=1), *others)
    return with_small_features(resnet_v2.ResNetV2(stages, layer, num_classes, 0.25 * width, stem_stride=1))


def mobilenetv2_cifar(layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    trunk = with_two_strides_less(mobilenet_v2.trunk(0.5 * width))
    return with_small_features(mobilenet_v2.mobilenet_v2(trunk, layer, num_classes))


def efficientnet_b0_cifar(layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    trunk = with_two_strides_less(efficientnet.trunk(efficientnet.SCALES["b0"], 0.5 * width))
    return efficientnet.efficientnet(trunk, layer, num_classes)


def with_two_strides_less(trunk: Trunk) -> Trunk:
    """The stem's convolution and the first depthwise one that strides get stride one."""
    strided = next(i for i, stage in enumerate(trunk.stages) if stage.stride > 1)
    stages = tuple(
        dataclasses.replace(stage, stride=1) if i == strided else stage for i, stage in enumerate(trunk.stages)
    )
    return dataclasses.replace(trunk, stem_stride=1, stages=stages)


def with_small_features(model: resnet_v2.ResNetV2 | InvertedResidualNet, start: float = LAST_GAMMA) -> nn.Module:
    """Starts the last layer's gamma small, where the layer has one: every layer of this project calls it `weight`."""
    last = model.last_layer if isinstance(model, resnet_v2.ResNetV2) else model.head_layer
    gamma = getattr(last, "weight", None)
    if isinstance(gamma, nn.Parameter):
        with torch.no_grad():
            gamma.mul_(start)
    return model


RESNET_NANO = (
    resnet_v2.BottleneckGroup(channels=8, blocks=1, stride=1),
    resnet_v2.BottleneckGroup(channels=16, blocks=2, stride=1),
    resnet_v2.BottleneckGroup(channels=32, blocks=2, stride=2),
    resnet_v2.BottleneckGroup(channels=64, blocks=1, stride=2),
)
MOBILENET_NANO = (
    InvertedGroup(expansion=1, channels=8, blocks=1, stride=1),
    InvertedGroup(expansion=6, channels=16, blocks=2, stride=2),
    InvertedGroup(expansion=6, channels=24, blocks=2, stride=2),
    InvertedGroup(expansion=6, channels=32, blocks=1, stride=1),
    InvertedGroup(expansion=6, channels=48, blocks=2, stride=2),
)
EFFICIENTNET_NANO = (
    InvertedGroup(expansion=1, channels=8, blocks=1, stride=1),
    InvertedGroup(expansion=6, channels=16, blocks=2, stride=2),
    InvertedGroup(expansion=6, channels=24, blocks=2, stride=2, kernel=5),
    InvertedGroup(expansion=6, channels=32, blocks=1, stride=1, kernel=5),
    InvertedGroup(expansion=6, channels=48, blocks=2, stride=2),
)
# As deep as its CIFAR anchor and with as wide a head: what breaks in deep nets, and what drives a wide dense layer
# unstable, does not show in a shallow net (docs/lab_log.md, second calibration).
MOBILENET_THIN = tuple(
    dataclasses.replace(stage, channels=channels, stride=stride)
    for stage, channels, stride in zip(
        mobilenet_v2.STAGES, (8, 8, 8, 16, 16, 24, 32), (1, 2, 1, 2, 1, 2, 1), strict=True
    )
)


def resnet_nano(layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    model = resnet_v2.ResNetV2(RESNET_NANO, layer, num_classes, width, stem_channels=8, stem_stride=1)
    return with_small_features(model)


def mobilenet_nano(layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    return with_small_features(mobilenet_v2.mobilenet_v2(nano_trunk(MOBILENET_NANO, width), layer, num_classes))


def mobilenet_thin(layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    trunk = dataclasses.replace(nano_trunk(MOBILENET_THIN, width), head_channels=scaled_channels(1280, width))
    return with_small_features(mobilenet_v2.mobilenet_v2(trunk, layer, num_classes), LAST_GAMMA_THIN)


def efficientnet_nano(layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    trunk = dataclasses.replace(nano_trunk(EFFICIENTNET_NANO, width), squeeze_excite=True)
    return with_small_features(efficientnet.efficientnet(trunk, layer, num_classes))


def nano_trunk(stages: tuple[InvertedGroup, ...], width: float) -> Trunk:
    """Without dropout and stochastic depth: runs of a few hundred steps need no regularization, only its noise."""
    return Trunk(
        stem_channels=scaled_channels(16, width),
        stages=scaled_stages(stages, width),
        head_channels=scaled_channels(256, width),
        stem_stride=1,
        dropout=0.0,
    )


# With 4 groups each group of a small anchor's layer has two channels or more, so (w,h,c/g) is not (w,h).
OUR_ANCHORS = (
    Anchor("resnet50-cifar", resnet50_cifar),
    Anchor("mobilenetv2-cifar", mobilenetv2_cifar),
    Anchor("efficientnet-b0-cifar", efficientnet_b0_cifar),
    Anchor("resnet-nano", resnet_nano, batch_size=64, groups=4),
    Anchor("mobilenet-nano", mobilenet_nano, batch_size=64, groups=4),
    Anchor("efficientnet-nano", efficientnet_nano, batch_size=64, groups=4),
    Anchor("mobilenet-thin", mobilenet_thin, batch_size=64, groups=4),
)
ANCHORS: Register[Anchor] = Register("anchor", {anchor.name: anchor for anchor in OUR_ANCHORS})
