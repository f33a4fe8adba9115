"""MnasNet-B1 (Tan et al. 2019): the paper's MN. The kind without squeeze-excite."""

from torch import nn

from evonorm.models.classify.inverted_residual import InvertedGroup, InvertedResidualNet, Trunk, scaled_stages
from evonorm.models.convolution import scaled_channels
from evonorm.models.hole import LayerHole
from evonorm.models.initialization import fan_out_normal_, imagenet_uniform_, zero_biases

STAGES = (
    InvertedGroup(expansion=1, channels=16, blocks=1, stride=1),
    InvertedGroup(expansion=3, channels=24, blocks=3, stride=2),
    InvertedGroup(expansion=3, channels=40, blocks=3, stride=2, kernel=5),
    InvertedGroup(expansion=6, channels=80, blocks=3, stride=2, kernel=5),
    InvertedGroup(expansion=6, channels=96, blocks=2, stride=1),
    InvertedGroup(expansion=6, channels=192, blocks=4, stride=2, kernel=5),
    InvertedGroup(expansion=6, channels=320, blocks=1, stride=1),
)


def trunk(width: float = 1.0) -> Trunk:
    """The net for ImageNet. The head has 1280 channels at every width, as in the official code."""
    return Trunk(stem_channels=scaled_channels(32, width), stages=scaled_stages(STAGES, width), head_channels=1280)


def mnasnet(trunk: Trunk, layer: LayerHole, num_classes: int) -> InvertedResidualNet:
    """The net with the official initialization, which EfficientNet inherited."""
    model = InvertedResidualNet(trunk, layer, num_classes)
    initialize(model)
    return model


def initialize(model: InvertedResidualNet) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            fan_out_normal_(module.weight, module.groups)
    imagenet_uniform_(model.classifier.weight)
    zero_biases(model)
