"""EfficientNet B0 to B7 (Tan & Le 2019): the paper's EN-B0 and EN-B5; with other strides, EfficientNet-CIFAR."""

from dataclasses import dataclass

from evonorm.models.classify.inverted_residual import InvertedGroup, InvertedResidualNet, Trunk, scaled_stages
from evonorm.models.classify.mnasnet import initialize
from evonorm.models.convolution import scaled_channels
from evonorm.models.hole import LayerHole

STAGES = (
    InvertedGroup(expansion=1, channels=16, blocks=1, stride=1),
    InvertedGroup(expansion=6, channels=24, blocks=2, stride=2),
    InvertedGroup(expansion=6, channels=40, blocks=2, stride=2, kernel=5),
    InvertedGroup(expansion=6, channels=80, blocks=3, stride=2),
    InvertedGroup(expansion=6, channels=112, blocks=3, stride=1, kernel=5),
    InvertedGroup(expansion=6, channels=192, blocks=4, stride=2, kernel=5),
    InvertedGroup(expansion=6, channels=320, blocks=1, stride=1),
)


@dataclass(frozen=True)
class CompoundScale:
    """Compound scaling: how much wider and deeper than B0, for images of which size, with how much dropout."""

    width: float
    depth: float
    image_size: int
    dropout: float


SCALES = {
    "b0": CompoundScale(1.0, 1.0, 224, 0.2),
    "b1": CompoundScale(1.0, 1.1, 240, 0.2),
    "b2": CompoundScale(1.1, 1.2, 260, 0.3),
    "b3": CompoundScale(1.2, 1.4, 300, 0.3),
    "b4": CompoundScale(1.4, 1.8, 380, 0.4),
    "b5": CompoundScale(1.6, 2.2, 456, 0.4),
    "b6": CompoundScale(1.8, 2.6, 528, 0.5),
    "b7": CompoundScale(2.0, 3.1, 600, 0.5),
}


def trunk(scale: CompoundScale, width: float = 1.0) -> Trunk:
    """The net for ImageNet. Stem and head scale as well, as in the official code."""
    width = width * scale.width
    return Trunk(
        stem_channels=scaled_channels(32, width),
        stages=scaled_stages(STAGES, width, scale.depth),
        head_channels=scaled_channels(1280, width),
        squeeze_excite=True,
        dropout=scale.dropout,
        stochastic_depth=0.2,
    )


def efficientnet(trunk: Trunk, layer: LayerHole, num_classes: int) -> InvertedResidualNet:
    """The net with the official initialization, which is MnasNet's."""
    model = InvertedResidualNet(trunk, layer, num_classes)
    initialize(model)
    return model
