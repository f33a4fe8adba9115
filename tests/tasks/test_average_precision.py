"""Average precision: the published reference, a count by hand, and the truth itself through our own door."""

import json

import numpy as np
import pytest
import torch

from evonorm.data import load_coco
from evonorm.data.coco import decode_mask
from evonorm.tasks import FoundObjects, average_precisions
from tests.data.coco_tiny import COCO_TINY, SHARED, needs_coco, needs_coco_tiny

pytestmark = needs_coco
REFERENCE = SHARED / "coco_eval_ref"


@pytest.mark.skipif(not REFERENCE.exists(), reason="no ../shared/data/coco_eval_ref: COCO's published fake results")
@pytest.mark.parametrize(("kind", "expected"), [("bbox", (0.505, 0.697, 0.573)), ("segm", (0.320, 0.562, 0.299))])
def test_the_published_reference_comes_out(kind, expected):
    results = json.loads((REFERENCE / f"instances_val2014_fake{kind}100_results.json").read_text())
    found = average_precisions(REFERENCE / "instances_val2014_100.json", results, kind)
    assert tuple(round(each, 3) for each in found) == expected


def test_by_hand(tmp_path):
    """Two objects, one found exactly and one thing that is none: half of the recall at full precision."""
    boxes = ([10, 10, 40, 40], [60, 60, 30, 30])
    truth = {
        "images": [{"id": 1, "height": 100, "width": 100}, {"id": 2, "height": 100, "width": 100}],
        "categories": [{"id": 3, "name": "cup"}],
        "annotations": [
            {"id": i + 1, "image_id": 1, "category_id": 3, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
            for i, box in enumerate(boxes)
        ],
    }
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(truth))
    exact = {"image_id": 1, "category_id": 3, "score": 0.9, "bbox": boxes[0]}
    wrong = {"image_id": 1, "category_id": 3, "score": 0.8, "bbox": [0, 80, 10, 10]}
    half = 51 / 101  # recalls 0.00 to 0.50 of the 101 that count
    assert average_precisions(path, [exact, wrong], "bbox") == pytest.approx((half, half, half))
    near = exact | {"bbox": [10, 10, 40, 28]}  # overlaps by 0.7: right at .50, .55, .60, .65 and .70
    assert average_precisions(path, [near], "bbox") == pytest.approx((5 / 10 * half, half, 0.0))
    assert average_precisions(path, [], "bbox") == (0.0, 0.0, 0.0)
    elsewhere = wrong | {"image_id": 2, "score": 0.99}
    assert average_precisions(path, [exact, elsewhere], "bbox", pictures=[1]) == pytest.approx((half, half, half))
    assert average_precisions(path, [exact, elsewhere], "bbox")[0] == pytest.approx(half / 2)


@needs_coco_tiny
def test_the_truth_found_is_perfect_and_crowds_are_not_asked_for():
    split = load_coco(COCO_TINY, "val2017")
    results = []
    for picture in split.pictures:
        objects = [each for each in picture.objects if not each.is_crowd]
        boxes = torch.tensor([each.box for each in objects], dtype=torch.float64).view(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        masks = [decode_mask(each.segmentation, picture.height, picture.width) for each in objects]
        found = FoundObjects(
            picture,
            boxes,
            torch.tensor([each.category for each in objects]),
            torch.linspace(0.9, 0.6, len(objects)),
            torch.from_numpy(np.stack(masks) if masks else np.zeros((0, picture.height, picture.width))).bool(),
        )
        results += found.results()
    assert len(results) == 815 - 11
    assert average_precisions(split.annotations, results, "bbox") == pytest.approx((1, 1, 1))
    assert average_precisions(split.annotations, results, "segm") == pytest.approx((1, 1, 1))
