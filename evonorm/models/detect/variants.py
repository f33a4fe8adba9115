"""Detectors by name: which backbone, which sizes. `maskrcnn-nano` is ours, for tests and small machines."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import nn

from evonorm.foundation import unknown_name
from evonorm.graph import Graph
from evonorm.models.convolution import scaled_channels
from evonorm.models.detect.mask_rcnn import MaskRCNN
from evonorm.models.detect.resnet_fpn import ResNetFPN
from evonorm.models.detect.settings import AfterSum, DetectorSettings, DetectorShape
from evonorm.models.detect.spinenet import SCALES, SpineNet, SpineScale
from evonorm.models.hole import LayerHole, fill_hole

COCO_CLASSES = 91  # COCO's ids as they are, 1 to 90 with ten unused, and the background

MakeBackbone = Callable[[DetectorShape, LayerHole, float, AfterSum], nn.Module]


@dataclass(frozen=True)
class Variant:
    """A named detector at width one."""

    shape: DetectorShape
    backbone: MakeBackbone


def _resnet(blocks: tuple[int, ...], own_width: float = 1.0) -> MakeBackbone:
    return lambda shape, layer, width, after_sum: ResNetFPN(blocks, shape, layer, own_width * width, after_sum)


def _spinenet(scale: SpineScale) -> MakeBackbone:
    def make(shape: DetectorShape, layer: LayerHole, width: float, after_sum: AfterSum) -> nn.Module:
        scaled_channels(64, width)  # says what is wrong with an impossible width
        return SpineNet(replace(scale, filters=scale.filters * width), shape, layer, after_sum)

    return make


SPINE = DetectorShape(levels=(3, 7), anchor_size=3)
SPINE_SHAPES = {
    "49s": replace(SPINE, channels=128, dense=512, image_size=640),
    "49": replace(SPINE, image_size=640),
    "143": replace(SPINE, image_size=1280),
}
NANO = DetectorShape(levels=(2, 6), anchor_size=2, channels=32, convs=2, dense=128, image_size=128, groups=4)
VARIANTS = {
    "maskrcnn-r50-fpn": Variant(DetectorShape(levels=(2, 6), anchor_size=8), _resnet((3, 4, 6, 3))),
    **{
        f"maskrcnn-spinenet{name}": Variant(SPINE_SHAPES.get(name, SPINE), _spinenet(scale))
        for name, scale in SCALES.items()
    },
    "maskrcnn-nano": Variant(NANO, _resnet((2, 2, 2, 2), own_width=0.25)),
}


def build_detector(
    name: str,
    layer: LayerHole,
    num_classes: int = COCO_CLASSES,
    width: float = 1.0,
    settings: DetectorSettings = DetectorSettings(),  # noqa: B008 (frozen)
) -> MaskRCNN:
    """A detector of VARIANTS around a filled hole; `num_classes` has the background in it."""
    variant = VARIANTS[name]
    shape = variant.shape.scaled(width)
    backbone = variant.backbone(shape, layer, width, settings.after_sum)
    return MaskRCNN(backbone, shape, layer, num_classes, settings)


def create_detector(
    name: str,
    layer: str | Graph | LayerHole = "bn-relu",
    num_classes: int = COCO_CLASSES,
    width: float = 1.0,
    settings: DetectorSettings = DetectorSettings(),  # noqa: B008 (frozen)
) -> MaskRCNN:
    """As `create_model`, with everything that can be chosen about a detector.

    Arguments:
        name: such as "maskrcnn-r50-fpn".
        layer, width: as in `create_model`.
        num_classes: with the background; by default COCO's 91.
        settings: how it proposes, samples and keeps boxes, and its losses.

    Raises ValueError for a name that is no detector's.

    Example: create_detector("maskrcnn-nano", "evonorm-s0", settings=DetectorSettings(regions=32))
    """
    if name not in VARIANTS:
        raise unknown_name("detector", name, VARIANTS)
    return build_detector(name, fill_hole(layer, VARIANTS[name].shape.groups), num_classes, width, settings)
