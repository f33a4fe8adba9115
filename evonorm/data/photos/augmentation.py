"""RandAugment and AutoAugment v0 as TensorFlow's (efficientnet/autoaugment.py of the official code).

Magnitudes are of 10, and may go beyond. No PyTorch library has these: torchvision's RandAugment has 14 operations with
magnitudes of 30, of which several run the other way, and its AutoAugment is another policy.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from evonorm.data.photos import operations, warps
from evonorm.data.photos.settings import PictureSettings

SCALE = 10


class Reach(NamedTuple):
    """How far, in pixels, magnitude 10 moves a picture and pads the place that is cut out, at any size of picture."""

    translation: int
    cutout: int


RANDAUGMENT, AUTOAUGMENT = Reach(translation=100, cutout=40), Reach(translation=250, cutout=100)


class Operation(NamedTuple):
    """What is done to a picture, with which argument at a magnitude, and whether the sign of that is random.

    The argument is None where there is none.
    """

    change: Callable[..., Tensor]
    argument: Callable[[float, Reach], float | None]
    signed: bool = False


def _none(_magnitude: float, _reach: Reach) -> None:
    return None


def _whole(most: int) -> Callable[[float, Reach], int]:
    return lambda magnitude, _: int(magnitude / SCALE * most)


def _share(most: float) -> Callable[[float, Reach], float]:
    return lambda magnitude, _: magnitude / SCALE * most


def _factor(magnitude: float, _reach: Reach) -> float:
    return magnitude / SCALE * 1.8 + 0.1


def _translation(magnitude: float, reach: Reach) -> float:
    return magnitude / SCALE * reach.translation


def _pad(magnitude: float, reach: Reach) -> int:
    return int(magnitude / SCALE * reach.cutout)


OPERATIONS: Mapping[str, Operation] = {
    "AutoContrast": Operation(operations.autocontrast, _none),
    "Equalize": Operation(operations.equalize, _none),
    "Invert": Operation(operations.invert, _none),
    "Rotate": Operation(warps.rotate, _share(30), signed=True),
    "Posterize": Operation(operations.posterize, _whole(4)),
    "Solarize": Operation(operations.solarize, _whole(256)),
    "Color": Operation(operations.color, _factor),
    "Contrast": Operation(operations.contrast, _factor),
    "Brightness": Operation(operations.brightness, _factor),
    "Sharpness": Operation(operations.sharpness, _factor),
    "ShearX": Operation(warps.shear_x, _share(0.3), signed=True),
    "ShearY": Operation(warps.shear_y, _share(0.3), signed=True),
    "TranslateX": Operation(warps.translate_x, _translation, signed=True),
    "TranslateY": Operation(warps.translate_y, _translation, signed=True),
    "Cutout": Operation(operations.cut_out, _pad),
    "SolarizeAdd": Operation(operations.solarize_add, _whole(110)),
}
WITH_CONTRAST_BUG = {**OPERATIONS, "Contrast": Operation(operations.contrast_with_bug, _factor)}
NAMES = tuple(OPERATIONS)

Step = tuple[str, float, float]  # an operation, its probability, its magnitude
AUTOAUGMENT_V0: tuple[tuple[Step, Step], ...] = (
    (("Equalize", 0.8, 1), ("ShearY", 0.8, 4)),
    (("Color", 0.4, 9), ("Equalize", 0.6, 3)),
    (("Color", 0.4, 1), ("Rotate", 0.6, 8)),
    (("Solarize", 0.8, 3), ("Equalize", 0.4, 7)),
    (("Solarize", 0.4, 2), ("Solarize", 0.6, 2)),
    (("Color", 0.2, 0), ("Equalize", 0.8, 8)),
    (("Equalize", 0.4, 8), ("SolarizeAdd", 0.8, 3)),
    (("ShearX", 0.2, 9), ("Rotate", 0.6, 8)),
    (("Color", 0.6, 1), ("Equalize", 1.0, 2)),
    (("Invert", 0.4, 9), ("Rotate", 0.6, 0)),
    (("Equalize", 1.0, 9), ("ShearY", 0.6, 3)),
    (("Color", 0.4, 7), ("Equalize", 0.6, 0)),
    (("Posterize", 0.4, 6), ("AutoContrast", 0.4, 7)),
    (("Solarize", 0.6, 8), ("Color", 0.6, 9)),
    (("Solarize", 0.2, 4), ("Rotate", 0.8, 9)),
    (("Rotate", 1.0, 7), ("TranslateY", 0.8, 9)),
    (("ShearX", 0.0, 0), ("Solarize", 0.8, 4)),
    (("ShearY", 0.8, 0), ("Color", 0.6, 4)),
    (("Color", 1.0, 0), ("Rotate", 0.6, 2)),
    (("Equalize", 0.8, 4), ("Equalize", 0.0, 8)),
    (("Equalize", 1.0, 4), ("AutoContrast", 0.6, 2)),
    (("ShearY", 0.4, 7), ("SolarizeAdd", 0.6, 7)),
    (("Posterize", 0.8, 2), ("Solarize", 0.6, 10)),
    (("Solarize", 0.6, 8), ("Equalize", 0.6, 1)),
    (("Color", 0.8, 6), ("Rotate", 0.4, 5)),
)


def augmented(picture: Tensor, settings: PictureSettings, generator: torch.Generator) -> Tensor:
    """(3, size, size) uint8 to the same, changed as the settings say."""
    if settings.augmentation == "none":
        return picture
    table = WITH_CONTRAST_BUG if settings.contrast_bug else OPERATIONS
    if settings.augmentation == "randaugment":
        drawn = torch.randint(len(NAMES), (settings.layers,), generator=generator).tolist()
        for number in drawn:
            picture = applied(table[NAMES[number]], picture, settings.magnitude, RANDAUGMENT, generator)
        return picture
    for name, probability, magnitude in AUTOAUGMENT_V0[_whole_number(len(AUTOAUGMENT_V0), generator)]:
        if float(torch.rand((), generator=generator)) < probability:
            picture = applied(table[name], picture, magnitude, AUTOAUGMENT, generator)
    return picture


def applied(
    operation: Operation, picture: Tensor, magnitude: float, reach: Reach, generator: torch.Generator
) -> Tensor:
    """The operation with its sign, or the place that it cuts out, drawn."""
    argument = operation.argument(magnitude, reach)
    if argument is None:
        return operation.change(picture)
    if operation.signed and _whole_number(2, generator):
        argument = -argument
    place: tuple[Any, ...] = ()
    if operation.change is operations.cut_out:
        place = tuple(_whole_number(length, generator) for length in picture.shape[1:])
    return operation.change(picture, argument, *place)


def _whole_number(below: int, generator: torch.Generator) -> int:
    return int(torch.randint(below, (), generator=generator))
