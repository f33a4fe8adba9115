"""Reads a photo's file into RGB. Grey and CMYK JPEGs and PNGs under a JPEG's name are all in ImageNet, and all read.

torchvision's decoder is the fastest that reads them all; from 0.29 on it is deprecated in favour of TorchCodec's.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from evonorm.foundation import needs


class UnreadablePhotoError(ValueError):
    """A file that cannot be decoded; the message names it and says how to skip it."""


def read_photo(path: Path) -> Tensor:
    """(3, height, width) uint8."""
    with needs("vision", "decoding photos"):
        from torchvision.io import ImageReadMode, decode_image  # type: ignore[import-untyped]
    try:
        content = np.fromfile(path, np.uint8)
        if not len(content):
            raise _unreadable(path, "it is empty")
        photo = decode_image(torch.from_numpy(content), ImageReadMode.RGB)
    except (OSError, RuntimeError) as error:
        raise _unreadable(path, str(error).splitlines()[0]) from None
    if photo.dtype == torch.uint16:  # a PNG of 16 bits
        photo = (photo.int() >> 8).to(torch.uint8)
    if photo.dim() != 3:
        raise _unreadable(path, f"it decodes to the shape {tuple(photo.shape)}")
    return photo


def _unreadable(path: Path, why: str) -> UnreadablePhotoError:
    return UnreadablePhotoError(
        f"{path} cannot be read as a photo ({why}): expected a whole JPEG or PNG file. Replace or remove it, or pass"
        ' over such files with unreadable = "skip".'
    )
