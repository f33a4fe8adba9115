"""MobileNetV2 (Sandler et al. 2018): the paper's MV2 and, with other strides, MobileNetV2-CIFAR."""

from torch import nn

from evonorm.models.classify.inverted_residual import InvertedGroup, InvertedResidualNet, Trunk, scaled_stages
from evonorm.models.convolution import scaled_channels
from evonorm.models.hole import LayerHole
from evonorm.models.initialization import truncated_normal_, zero_biases

STAGES = (
    InvertedGroup(expansion=1, channels=16, blocks=1, stride=1),
    InvertedGroup(expansion=6, channels=24, blocks=2, stride=2),
    InvertedGroup(expansion=6, channels=32, blocks=3, stride=2),
    InvertedGroup(expansion=6, channels=64, blocks=4, stride=2),
    InvertedGroup(expansion=6, channels=96, blocks=3, stride=1),
    InvertedGroup(expansion=6, channels=160, blocks=3, stride=2),
    InvertedGroup(expansion=6, channels=320, blocks=1, stride=1),
)
WEIGHT_STD = 0.09


def trunk(width: float = 1.0) -> Trunk:
    """The net for ImageNet. A width below one leaves the head at 1280, as the official small models do."""
    return Trunk(
        stem_channels=scaled_channels(32, width),
        stages=scaled_stages(STAGES, width),
        head_channels=scaled_channels(1280, max(1.0, width)),
    )


def mobilenet_v2(trunk: Trunk, layer: LayerHole, num_classes: int) -> InvertedResidualNet:
    """The net with the official initialization: every convolution from one truncated normal, whatever its fan.

    The dense layer is N(0, 0.01) as in ResNets; officially it is as wide as the convolutions, and EvoNorm-B0 blows up.
    """
    model = InvertedResidualNet(trunk, layer, num_classes)
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            truncated_normal_(module.weight, WEIGHT_STD)
    nn.init.normal_(model.classifier.weight, std=0.01)
    zero_biases(model)
    return model
