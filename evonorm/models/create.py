"""Models by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from evonorm.foundation import Register, check_plain_name
from evonorm.graph import Graph
from evonorm.models.classify import efficientnet, mnasnet, mobilenet_v2, resnet_v2
from evonorm.models.classify.anchors import ANCHORS, OUR_ANCHORS, Anchor
from evonorm.models.detect.variants import COCO_CLASSES, VARIANTS, build_detector
from evonorm.models.gan.biggan_deep import ARCHITECTURES, Architecture, BigGANDeep, one_latent
from evonorm.models.hole import LayerHole, ModelBuilder, fill_hole


def one_image(image_size: int) -> tuple[Tensor, ...]:
    """What a classifier is run on to count it."""
    return (torch.zeros(1, 3, image_size, image_size),)


@dataclass(frozen=True)
class ModelEntry:
    """A named model: how to build it, what it is meant for, and what it is run on to count it."""

    build: ModelBuilder
    image_size: int = 224
    num_classes: int = 1000
    groups: int = 32
    kind: Literal["classifier", "detector", "gan"] = "classifier"
    inputs: Callable[[int], tuple[Tensor, ...]] = one_image


def _resnet(depth: int, layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    return resnet_v2.ResNetV2(resnet_v2.stages_of_depth(depth), layer, num_classes, width)


def _mobilenet_v2(layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    return mobilenet_v2.mobilenet_v2(mobilenet_v2.trunk(width), layer, num_classes)


def _mnasnet(layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    return mnasnet.mnasnet(mnasnet.trunk(width), layer, num_classes)


def _efficientnet(scale: efficientnet.CompoundScale, layer: LayerHole, num_classes: int, width: float) -> nn.Module:
    return efficientnet.efficientnet(efficientnet.trunk(scale, width), layer, num_classes)


def _gan(architecture: Architecture) -> ModelEntry:
    small = architecture.image_size < 128
    return ModelEntry(
        partial(BigGANDeep, architecture),
        architecture.image_size,
        num_classes=10 if small else 1000,
        groups=16 if small else 32,  # four channels a group where 64 are the fewest
        kind="gan",
        inputs=partial(one_latent, architecture),
    )


def _model_of(anchor: Anchor) -> ModelEntry:
    return ModelEntry(anchor.build, anchor.image_size, num_classes=10, groups=anchor.groups)


MODELS: Register[ModelEntry] = Register(
    "model",
    {
        **{anchor.name: _model_of(anchor) for anchor in OUR_ANCHORS},
        **{f"resnet{depth}": ModelEntry(partial(_resnet, depth)) for depth in resnet_v2.BLOCKS},
        "mobilenetv2": ModelEntry(_mobilenet_v2),
        "mnasnet-b1": ModelEntry(_mnasnet),
        **{
            f"efficientnet-{size}": ModelEntry(partial(_efficientnet, scale), scale.image_size)
            for size, scale in efficientnet.SCALES.items()
        },
        **{
            name: ModelEntry(
                partial(build_detector, name), each.shape.image_size, COCO_CLASSES, each.shape.groups, "detector"
            )
            for name, each in VARIANTS.items()
        },
        **{name: _gan(architecture) for name, architecture in ARCHITECTURES.items()},
    },
)


def register_model(
    name: str, build: ModelBuilder, image_size: int = 224, num_classes: int = 1000, groups: int = 32
) -> ModelEntry:
    """Adds a model that `create_model` and the command line then know by name.

    Arguments:
        name: which no other model has.
        build: (layer, num_classes, width) -> module. It puts `layer(channels, nonlinearity=...)` where a normalization
            and an activation belong, and multiplies its channels by `width`.
        image_size, num_classes, groups: what it is meant for; `groups` is for moments over (w,h,c/g).

    Raises ValueError for a name that is taken or cannot be typed, TypeError where `build` cannot be called.

    Example:
        def tiny(layer, num_classes, width):
            channels = int(16 * width)
            features = nn.Sequential(nn.Conv2d(3, channels, 3), layer(channels), nn.AdaptiveAvgPool2d(1))
            return nn.Sequential(features, nn.Flatten(), nn.Linear(channels, num_classes))

        evonorm.register_model("tiny", tiny, image_size=32, num_classes=10)
    """
    check_plain_name(name, "model")
    if not callable(build):
        raise TypeError(f"build of the model {name} must be a function that makes it, got {type(build).__name__}.")
    return MODELS.add(name, ModelEntry(build, image_size, num_classes, groups))


def register_anchor(
    name: str, build: ModelBuilder, batch_size: int = 128, crop: int = 24, image_size: int = 32, groups: int = 32
) -> Anchor:
    """Adds a net that recipes can name to judge layers on; it is a model as well.

    Arguments:
        name, build: as in `register_model`.
        batch_size: images of a training step.
        crop, image_size: sides of the images in training and in validation.
        groups: of moments over (w,h,c/g).

    Example:
        def tiny(layer, num_classes, width):
            features = nn.Sequential(nn.Conv2d(3, 16, 3), layer(16), nn.AdaptiveAvgPool2d(1))
            return nn.Sequential(features, nn.Flatten(), nn.Linear(16, num_classes))

        evonorm.register_anchor("tiny-anchor", tiny, batch_size=64, groups=4)
    """
    anchor = Anchor(name, build, batch_size, crop, image_size, groups)
    entry = _model_of(anchor)
    register_model(name, build, entry.image_size, entry.num_classes, entry.groups)
    return ANCHORS.add(name, anchor)


def model_names() -> list[str]:
    """Every name that `create_model` knows: anchors, ImageNet models, detectors, GANs, then registered ones.

    Example: "resnet50" in evonorm.model_names()
    """
    return list(MODELS)


def find_model(name: str) -> ModelEntry:
    """The entry of a name; a misspelt one lists the closest."""
    return MODELS.find(name)


def create_model(
    name: str,
    layer: str | Graph | LayerHole = "bn-relu",
    num_classes: int | None = None,
    width: float = 1.0,
    groups: int | None = None,
) -> nn.Module:
    """A model by name with `layer` at every normalization and activation.

    Arguments:
        name: one of `model_names()`.
        layer: a name of `layer_names()`, formula text, a Graph, or a callable (channels, nonlinearity=True) that
            returns a module.
        num_classes: by default 1000, 10 for the anchors and biggan-deep-cifar, and COCO's 91 with the background for
            detectors.
        width: multiplies the channels that the name stands for; they are rounded to multiples of 8.
        groups: for moments over (w,h,c/g); by default 32, 4 for the small anchors, 16 for biggan-deep-cifar. A callable
            decides itself.

    A classifier takes images (N, 3, height, width) and gives logits (N, num_classes); a detector gives what
    torchvision's do: losses by name in training, else boxes, labels, scores and masks. A GAN, such as biggan-deep-128,
    has a `generator`, from latent vectors (N, 128) and labels (N,) to images in -1 to 1, where the layer has a gain and
    a bias per sample, and a `discriminator`, from images and labels to (N,). Weights come from torch's global
    generator, as those of torch's own modules do.

    Raises ValueError for an unknown name (it says which is close) or impossible arguments, TypeError for a layer
    that is none of the four.

    Example:
        model = evonorm.create_model("resnet50-cifar", layer="evonorm-b0", num_classes=10)
        assert model(torch.randn(2, 3, 24, 24)).shape == (2, 10)
    """
    entry = find_model(name)
    num_classes = entry.num_classes if num_classes is None else num_classes
    if not isinstance(num_classes, int) or isinstance(num_classes, bool) or num_classes < 1:
        raise ValueError(f"num_classes must be a whole number of at least 1, got {num_classes!r}.")
    if groups is not None and not isinstance(layer, (str, Graph)):
        raise ValueError("groups is for layers given by name, formula or graph; a callable sets its own.")
    return entry.build(fill_hole(layer, entry.groups if groups is None else groups), num_classes, width)
