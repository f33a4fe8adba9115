"""From a photo to a picture of a batch, for training and for evaluation."""

import torch
from torch import Tensor

from evonorm.data.photos.augmentation import augmented
from evonorm.data.photos.scaling import antialiased, legacy
from evonorm.data.photos.settings import PictureSettings
from evonorm.data.photos.windows import Window, centre_window, tensorflow_window, torchvision_window


def training_picture(photo: Tensor, settings: PictureSettings, generator: torch.Generator) -> Tensor:
    """(3, size, size) uint8: a crop, flipped half of the time, augmented."""
    window = _training_window(photo, settings, generator)
    picture = _scaled(photo, window, settings, truncate=settings.augmentation != "none")
    if settings.flip and int(torch.randint(2, (), generator=generator)):
        picture = picture.flip(2)
    return augmented(picture, settings, generator)


def _training_window(photo: Tensor, settings: PictureSettings, generator: torch.Generator) -> Window:
    height, width = photo.shape[1:]
    centre = centre_window(height, width, settings.size, settings.centre)
    if settings.crop == "centre":
        return centre
    if settings.images == "tf":
        return tensorflow_window(height, width, settings.smallest_area, generator) or centre
    return torchvision_window(height, width, settings.smallest_area, generator)


def evaluation_picture(photo: Tensor, settings: PictureSettings) -> Tensor:
    """(3, size, size) uint8: the centre, first cut, then scaled."""
    height, width = photo.shape[1:]
    return _scaled(photo, centre_window(height, width, settings.size, settings.centre), settings, truncate=False)


def _scaled(photo: Tensor, window: Window, settings: PictureSettings, truncate: bool) -> Tensor:
    """The official code cuts the fraction off where it augments, and else keeps floats, which bicubic scaling may have
    brought outside 0 to 255. Bytes lose that overshoot and, rounded, at most half a grey level.
    """
    part = window.cut(photo)
    if settings.images == "torchvision":
        return antialiased(part, settings.size, settings.interpolation)
    scaled = legacy(part, settings.size, settings.interpolation).clamp(0, 255)
    return (scaled if truncate else scaled.round()).to(torch.uint8)
