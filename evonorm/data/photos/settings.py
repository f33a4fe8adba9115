"""How a photo becomes a picture of a batch; the defaults are the official ResNet-50's, but for torchvision's crops."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from evonorm.foundation import unknown_name

Images = Literal["torchvision", "tf"]
Interpolation = Literal["bicubic", "bilinear"]
AugmentationName = Literal["none", "randaugment", "autoaugment"]
Crop = Literal["random", "centre"]
Unreadable = Literal["raise", "skip"]


@dataclass(frozen=True)
class PictureSettings:
    """How a photo is cut, scaled and changed.

    Attributes:
        size: of the square pictures that come out, in pixels.
        images: "torchvision" draws crops and scales (antialiased) as PyTorch's recipes do, "tf" as the official
            TensorFlow code does, whose crops are smaller and whose scaling is aliased. Never train with one and
            evaluate with the other.
        interpolation: of the scaling; MnasNet's is bilinear.
        crop: of training pictures: "random", or the "centre" as for evaluation, which a GAN is to imitate.
        augmentation: of training pictures, after crop and flip, with TensorFlow's operations.
        layers: operations of RandAugment.
        magnitude: of RandAugment's operations, on the scale of 10; may go beyond, as B5's 17 does.
        contrast_bug: the official contrast blends with height x width / 256 instead of the mean grey level.
        flip: half of the training pictures, left to right.
        smallest_area: share of a photo that a training crop has at least.
        centre: share of the short side that the crop for evaluation has.
        unreadable: what to do about a file that cannot be decoded.
    """

    size: int = 224
    images: Images = "torchvision"
    interpolation: Interpolation = "bicubic"
    crop: Crop = "random"
    augmentation: AugmentationName = "none"
    layers: int = 2
    magnitude: float = 9
    contrast_bug: bool = False
    flip: bool = True
    smallest_area: float = 0.08
    centre: float = 0.875
    unreadable: Unreadable = "raise"

    def __post_init__(self) -> None:
        for what, of in (
            ("images", Images),
            ("interpolation", Interpolation),
            ("crop", Crop),
            ("augmentation", AugmentationName),
            ("unreadable", Unreadable),
        ):
            if getattr(self, what) not in get_args(of):
                raise unknown_name(what, getattr(self, what), get_args(of))
        for what in ("size", "layers"):
            if getattr(self, what) < 1:
                raise ValueError(f"{what} must be at least 1, got {getattr(self, what)}.")
        if not 0 <= self.magnitude < math.inf:
            raise ValueError(
                f"magnitude must not be negative (10 is the nominal end of its scale), got {self.magnitude}."
            )
        for what in ("smallest_area", "centre"):
            if not 0 < getattr(self, what) <= 1:
                raise ValueError(f"{what} is a share, above 0 and at most 1, got {getattr(self, what)}.")
