"""Masks of objects, cropped to their boxes, and what the mask head should say about a region."""

from collections.abc import Mapping

import torch.nn.functional as F
from torch import Tensor

from evonorm.data import CROP, crop_masks

Target = Mapping[str, Tensor]
"""The objects of one picture, as torchvision names them.

`boxes` (n, 4) as x1, y1, x2, y2 in pixels; `labels` (n,) int64 from 1 on, 0 is the background; and either `mask_crops`
(n, 112, 112), each object's mask over its box, or `masks` (n, height, width) over the whole picture.
"""


def with_mask_crops(target: Target, height: int, width: int) -> dict[str, Tensor]:
    """The target with `masks` as crops of its boxes, which is what both losses read."""
    boxes, labels = target["boxes"].float(), target["labels"]
    if boxes.ndim != 2 or boxes.shape[1] != 4 or len(labels) != len(boxes):
        raise ValueError(
            f"expected boxes (n, 4) and labels (n,), got shapes {tuple(boxes.shape)} and {tuple(labels.shape)}."
        )
    if len(boxes) and not bool((boxes[:, 2:] > boxes[:, :2]).all()):
        raise ValueError("a box has no width or no height. Leave such objects out, as after a crop.")
    if "mask_crops" in target:
        crops = target["mask_crops"]
    elif "masks" in target and target["masks"].shape[1:] == (height, width):
        crops = crop_masks(target["masks"], boxes)
    else:
        raise ValueError(f"a target needs masks (n, {height}, {width}) or mask_crops (n, {CROP}, {CROP}).")
    return {"boxes": boxes, "labels": labels.long(), "masks": crops.to(boxes)}


def region_masks(crops: Tensor, boxes: Tensor, regions: Tensor, size: int) -> Tensor:
    """The part of each object's mask that its region shows, (n, size, size); nothing lies outside the object's box.

    Arguments:
        crops: (n, 112, 112), the masks over `boxes`.
        boxes, regions: (n, 4), an object's box and a region that was matched to it.
    """
    scale = crops.shape[-1] / (boxes[:, 2:] - boxes[:, :2])  # (n, 2) pixels of the crop for one of the picture
    inside = (regions - boxes[:, :2].repeat(1, 2)) * scale.repeat(1, 2)
    border = 2  # zeros around, so that what lies outside fades within a pixel
    padded = F.pad(crops, (border,) * 4)
    return crop_masks(padded, inside + border, size)
