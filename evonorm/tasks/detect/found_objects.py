"""What a detector finds in pictures: boxes, classes, scores and masks in the pictures' own pixels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from evonorm.data import CocoPicture, Fit, evaluation_picture
from evonorm.foundation import needs
from evonorm.models import MaskRCNN
from evonorm.tasks.detect.average_precision import Result
from evonorm.training import device_of

SURE = 0.5  # probability from which a pixel belongs to an object


@dataclass(frozen=True)
class FoundObjects:
    """The objects found in one picture, the surest first."""

    picture: CocoPicture
    boxes: Tensor  # (n, 4) as x1, y1, x2, y2
    labels: Tensor  # (n,) COCO's categories
    scores: Tensor  # (n,)
    masks: Tensor  # (n, height, width) bool

    def results(self) -> list[Result]:
        """In the form of COCO's result files, masks as run lengths."""
        with needs("coco", "COCO's average precision"):
            from pycocotools import mask as coder
        corners = self.boxes.tolist()
        codes = coder.encode(np.asfortranarray(self.masks.permute(1, 2, 0).numpy().astype(np.uint8)))
        return [
            {
                "image_id": self.picture.number,
                "category_id": label,
                "score": score,
                "bbox": [left, top, right - left, bottom - top],
                "segmentation": code,
            }
            for label, score, (left, top, right, bottom), code in zip(
                self.labels.tolist(), self.scores.tolist(), corners, codes, strict=True
            )
        ]


@torch.no_grad()
def find_objects(model: MaskRCNN, pictures: Sequence[CocoPicture], size: int, batch: int) -> Iterator[FoundObjects]:
    """Every picture, fitted into a square of this size, so many at a time."""
    model.eval()
    device = device_of(model)
    for first in range(0, len(pictures), batch):
        chosen = pictures[first : first + batch]
        squares, fits = zip(*(evaluation_picture(each, size) for each in chosen), strict=True)
        seen = torch.stack(squares).contiguous(memory_format=torch.channels_last)
        for picture, fit, found in zip(chosen, fits, model(seen.to(device)), strict=True):
            yield in_picture(picture, fit, {name: value.float().cpu() for name, value in found.items()})


def in_picture(picture: CocoPicture, fit: Fit, found: dict[str, Tensor]) -> FoundObjects:
    """From the square to the picture; what lies beside the picture altogether is left out."""
    from torchvision.models.detection.roi_heads import paste_masks_in_image  # type: ignore[import-untyped]

    boxes = fit.original_boxes(found["boxes"], picture)
    boxes = torch.minimum(boxes.clamp(min=0), torch.tensor([picture.width, picture.height] * 2))
    inside = (boxes[:, 2:] > boxes[:, :2]).all(1)
    boxes = boxes[inside]
    masks = paste_masks_in_image(found["masks"][inside], boxes, (picture.height, picture.width))
    return FoundObjects(picture, boxes, found["labels"][inside].long(), found["scores"][inside], masks[:, 0] >= SURE)
