"""COCO folders as they are published: `train2017`, `val2017`, `annotations/instances_train2017.json` and so on."""

import json
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evonorm.data.cifar10 import data_folder
from evonorm.foundation import needs

HOME_PAGE = "https://cocodataset.org/#download"


@dataclass(frozen=True)
class CocoObject:
    """One annotation; a crowd stands for many objects that nobody told apart."""

    box: tuple[float, float, float, float]  # left, top, width, height
    category: int
    segmentation: Any  # polygons or run lengths, as the file has them
    is_crowd: bool


@dataclass(frozen=True)
class CocoPicture:
    """A picture's file with everything that was annotated in it."""

    number: int
    path: Path
    height: int
    width: int
    objects: tuple[CocoObject, ...]


@dataclass(frozen=True)
class CocoSplit:
    """Some pictures of one folder, in the order of their numbers; `annotations` is what they are judged by."""

    annotations: Path
    pictures: tuple[CocoPicture, ...]
    categories: dict[int, str]

    def __len__(self) -> int:
        return len(self.pictures)


def coco_folder() -> Path:
    return data_folder() / "coco"


def load_coco(folder: Path, split: str = "train2017", only: Collection[int] = ()) -> CocoSplit:
    """A split of a COCO folder.

    Arguments:
        folder: holds `<split>/*.jpg` and `annotations/instances_<split>.json`.
        split: such as "train2017" or "val2017".
        only: numbers of the pictures wanted; all of them by default.

    Raises ValueError where a file is missing or a number is no picture's.
    """
    annotations = folder / "annotations" / f"instances_{split}.json"
    for path in (annotations, folder / split):
        if not path.exists():
            raise ValueError(
                f"{path} is not there: a COCO folder holds {split}/ and annotations/instances_{split}.json."
                f" Get both from {HOME_PAGE} and name the folder, or unpack them into {coco_folder()}."
            )
    content = json.loads(annotations.read_text())
    objects: dict[int, list[CocoObject]] = defaultdict(list)
    for each in content["annotations"]:
        objects[each["image_id"]].append(
            CocoObject(tuple(each["bbox"]), each["category_id"], each["segmentation"], bool(each["iscrowd"]))
        )
    known = {each["id"]: each for each in content["images"]}
    if missing := sorted(set(only) - set(known)):
        raise ValueError(f"{annotations} has no picture {missing[0]}.")
    pictures = tuple(
        CocoPicture(number, folder / split / each["file_name"], each["height"], each["width"], tuple(objects[number]))
        for number, each in sorted(known.items())
        if not only or number in only
    )
    return CocoSplit(annotations, pictures, {each["id"]: each["name"] for each in content["categories"]})


def decode_mask(segmentation: Any, height: int, width: int) -> np.ndarray:
    """Polygons, or run lengths in either of their two forms, as (height, width) of 0 and 1."""
    with needs("coco", "reading masks"):
        from pycocotools import mask as coder
    if isinstance(segmentation, list):
        code = coder.merge(coder.frPyObjects(segmentation, height, width))
    elif isinstance(segmentation["counts"], list):
        code = coder.frPyObjects(segmentation, height, width)
    else:
        code = segmentation
    found: np.ndarray = coder.decode(code)
    return found
