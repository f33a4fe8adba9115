"""Models by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from torch import nn

from evonorm.foundation import unknown_name
from evonorm.graph import Graph
from evonorm.models.classify import anchors, efficientnet, mnasnet, mobilenet_v2, resnet_v2
from evonorm.models.hole import LayerHole, fill_hole


@dataclass(frozen=True)
class ModelEntry:
    """A named model: how to build it from (layer, num_classes, width), and what it is meant for."""

    build: Callable[[LayerHole, int, float], nn.Module]
    image_size: int = 224
    num_classes: int = 1000
    groups: int = 32


def _resnet(depth: int, layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    return resnet_v2.ResNetV2(resnet_v2.stages_of_depth(depth), layer, num_classes, width)


def _mobilenet_v2(layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    return mobilenet_v2.mobilenet_v2(mobilenet_v2.trunk(width), layer, num_classes)


def _mnasnet(layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    return mnasnet.mnasnet(mnasnet.trunk(width), layer, num_classes)


def _efficientnet(scale: efficientnet.Scale, layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    return efficientnet.efficientnet(efficientnet.trunk(scale, width), layer, num_classes)


def _anchor(name: str, build: Callable[[LayerHole, int, float], nn.Module]) -> ModelEntry:
    anchor = anchors.ANCHORS[name]
    return ModelEntry(build, anchor.image_size, num_classes=10, groups=anchor.groups)


MODELS: dict[str, ModelEntry] = {
    "resnet50-cifar": _anchor("resnet50-cifar", anchors.resnet50_cifar),
    "mobilenetv2-cifar": _anchor("mobilenetv2-cifar", anchors.mobilenetv2_cifar),
    "efficientnet-b0-cifar": _anchor("efficientnet-b0-cifar", anchors.efficientnet_b0_cifar),
    "resnet-nano": _anchor("resnet-nano", anchors.resnet_nano),
    "mobilenet-nano": _anchor("mobilenet-nano", anchors.mobilenet_nano),
    "efficientnet-nano": _anchor("efficientnet-nano", anchors.efficientnet_nano),
    "mobilenet-thin": _anchor("mobilenet-thin", anchors.mobilenet_thin),
    **{f"resnet{depth}": ModelEntry(partial(_resnet, depth)) for depth in resnet_v2.BLOCKS},
    "mobilenetv2": ModelEntry(_mobilenet_v2),
    "mnasnet-b1": ModelEntry(_mnasnet),
    **{
        f"efficientnet-{size}": ModelEntry(partial(_efficientnet, scale), scale.image_size)
        for size, scale in efficientnet.SCALES.items()
    },
}


def model_names() -> list[str]:
    """Every name that `create_model` knows: the anchors first."""
    return list(MODELS)


def find_model(name: str) -> ModelEntry:
    """The entry of a name; a misspelt one lists the closest."""
    if name not in MODELS:
        raise unknown_name("model", name, MODELS)
    return MODELS[name]


def create_model(
    name: str,
    layer: str | Graph | LayerHole = "bn-relu",
    num_classes: int | None = None,
    width: float = 1.0,
    groups: int | None = None,
) -> nn.Module:
    """A classifier of images (N, 3, height, width) with `layer` at every normalization and activation.

    Arguments:
        name: one of `model_names()`.
        layer: a name of `layer_names()`, formula text, a Graph, or a callable (channels, nonlinearity=True) that
            returns a module.
        num_classes: by default 1000, and 10 for the anchors.
        width: multiplies the channels that the name stands for; they are rounded to multiples of 8.
        groups: for moments over (w,h,c/g); by default 32, and 4 for the small anchors. A callable decides itself.

    Weights come from torch's global generator, as those of torch's own modules do.
    """
    entry = find_model(name)
    num_classes = entry.num_classes if num_classes is None else num_classes
    if not isinstance(num_classes, int) or isinstance(num_classes, bool) or num_classes < 1:
        raise ValueError(f"num_classes must be a whole number of at least 1, got {num_classes!r}.")
    if groups is not None and not isinstance(layer, (str, Graph)):
        raise ValueError("groups is for layers given by name, formula or graph; a callable sets its own.")
    return entry.build(fill_hole(layer, entry.groups if groups is None else groups), num_classes, width)
