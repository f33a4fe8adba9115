"""An object's mask as a small square over its box: the same for every size of object, and cheap to keep.

The paper's detection code trains masks from such crops of 112x112 pixels.
"""

import torch
from torch import Tensor

from evonorm.foundation import needs

CROP = 112


def crop_masks(masks: Tensor, boxes: Tensor, size: int = CROP) -> Tensor:
    """What masks (n, h, w) show inside boxes (n, 4), enlarged or shrunk to (n, size, size), values 0 to 1.

    One bilinear sample a pixel, in its middle; outside a mask there is nothing.
    """
    with needs("vision", "cropping masks"):
        from torchvision.ops import roi_align  # type: ignore[import-untyped]
    numbers = torch.arange(len(boxes), device=boxes.device).to(boxes)[:, None]
    regions = torch.cat([numbers, boxes], 1)
    cropped: Tensor = roi_align(masks[:, None].to(boxes), regions, size, sampling_ratio=1, aligned=True)
    return cropped[:, 0]
