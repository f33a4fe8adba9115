"""Pictures with what a detector found: an outline, a tint and a name for each object."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from evonorm.data import read_pixels
from evonorm.foundation import needs
from evonorm.pictures import SERIES
from evonorm.tasks.detect.found_objects import FoundObjects

TINT = 0.45  # share of an object's colour over its mask


def draw_objects(found: FoundObjects, names: Mapping[int, str], least_score: float = 0.5, most: int = 20) -> Tensor:
    """The picture, (3, height, width) uint8, with at most so many objects, the surest, each in a colour of its class.

    Arguments:
        found: what is drawn over its picture.
        names: of the categories.
        least_score: of an object that is drawn.
        most: objects.
    """
    with needs("vision", "drawing detections"):
        from torchvision.utils import draw_bounding_boxes, draw_segmentation_masks  # type: ignore[import-untyped]
    chosen = (found.scores >= least_score).nonzero().flatten()[:most]
    drawn = read_pixels(found.picture).contiguous()
    if len(chosen) == 0:
        return drawn
    labels = found.labels[chosen].tolist()
    colours = [SERIES[label % len(SERIES)] for label in labels]
    texts = [
        f"{names.get(label, label)} {score:.2f}"
        for label, score in zip(labels, found.scores[chosen].tolist(), strict=True)
    ]
    drawn = draw_segmentation_masks(drawn, found.masks[chosen], TINT, colours)
    boxed: Tensor = draw_bounding_boxes(
        drawn, found.boxes[chosen], texts, colours, width=2, label_colors="white", fill_labels=True
    )
    return boxed


def write_drawings(
    found: Sequence[FoundObjects],
    names: Mapping[int, str],
    folder: Path,
    least_score: float = 0.5,
) -> list[Path]:
    """A PNG file for each picture, named by the picture's number; returns where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for each in found:
        path = folder / f"{each.picture.number:012d}.png"
        path.write_bytes(drawing_png(each, names, least_score))
        written.append(path)
    return written


def drawing_png(found: FoundObjects, names: Mapping[int, str], least_score: float = 0.5) -> bytes:
    """The drawing as a PNG file."""
    with needs("vision", "drawing detections"):
        from PIL import Image
    file = io.BytesIO()
    Image.fromarray(draw_objects(found, names, least_score).permute(1, 2, 0).numpy()).save(file, "png")
    return file.getvalue()
