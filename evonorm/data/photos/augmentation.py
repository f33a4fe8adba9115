"""RandAugment and AutoAugment v0 as TensorFlow's."""

import torch
from torch import Tensor

from evonorm.data.photos.settings import PictureSettings


def augmented(picture: Tensor, settings: PictureSettings, generator: torch.Generator) -> Tensor:
    """(3, size, size) uint8 to the same."""
    if settings.augmentation == "none":
        return picture
    raise NotImplementedError(f"{settings.augmentation} comes with the next commit ({generator.initial_seed()}).")
