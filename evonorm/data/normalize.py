"""Bytes of pixels to the numbers that a model sees, on whatever device they are."""

import torch
from torch import Tensor

from evonorm.data.images import Channels

IMAGENET_MEAN: Channels = (0.485, 0.456, 0.406)
IMAGENET_STD: Channels = (0.229, 0.224, 0.225)


def normalized(pictures: Tensor, mean: Channels, std: Channels) -> Tensor:
    """(n, 3, h, w) uint8 to float32 of mean 0 and deviation 1, channels_last, on the pictures' device."""
    factor, offset = line_affine(mean, std, pictures.shape[3])
    affine = factor.to(pictures.device), offset.to(pictures.device)
    return normalized_lines(pictures.permute(0, 2, 3, 1).contiguous(), affine)


def line_affine(mean: Channels, std: Channels, width: int) -> tuple[Tensor, Tensor]:
    """Factor and offset that normalize one line of `width` uint8 pixels, (width * 3,) each."""
    factor = 1 / (255 * torch.tensor(std))
    return factor.repeat(width), (-torch.tensor(mean) / torch.tensor(std)).repeat(width)


def normalized_lines(pictures: Tensor, affine: tuple[Tensor, Tensor]) -> Tensor:
    """(n, h, w, 3) uint8 to (n, 3, h, w) float32, which is channels_last in memory without a copy."""
    factor, offset = affine
    lines = pictures.flatten(2).float()  # (n, h, w * 3): one long inner axis vectorizes, three channels would not
    return torch.addcmul(offset, lines, factor).view(pictures.shape).permute(0, 3, 1, 2)
