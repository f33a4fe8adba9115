"""COCO folders: what is read from them, and what the squares show."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from evonorm.data import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    CocoBatches,
    CocoPicture,
    crop_masks,
    evaluation_picture,
    load_coco,
)
from evonorm.data.coco import CocoObject, decode_mask
from evonorm.data.coco_pictures import Fit, TrainingSquares, fit_into, objects_in_square
from tests.data.coco_tiny import COCO_TINY, EIGHT, needs_coco, needs_coco_tiny

pytest.importorskip("torchvision")
pytestmark = needs_coco


@needs_coco_tiny
def test_the_published_layout_is_read_with_its_crowds():
    split = load_coco(COCO_TINY, "train2017")
    assert (len(split), len(split.categories)) == (80, 80)
    assert sum(len(each.objects) for each in split.pictures) == 705
    assert sum(each.is_crowd for picture in split.pictures for each in picture.objects) == 6
    assert split.categories[90] == "toothbrush"
    some = load_coco(COCO_TINY, "train2017", EIGHT)
    assert [each.number for each in some.pictures] == list(EIGHT)
    assert sum(len(each.objects) for each in some.pictures) == 22


@needs_coco_tiny
def test_polygons_cover_the_area_that_the_annotation_says():
    content = json.loads((COCO_TINY / "annotations" / "instances_val2017.json").read_text())
    sizes = {each["id"]: (each["height"], each["width"]) for each in content["images"]}
    errors = [
        abs(int(decode_mask(each["segmentation"], *sizes[each["image_id"]]).sum()) / each["area"] - 1)
        for each in content["annotations"]
        if not each["iscrowd"] and each["area"] > 1000
    ]
    assert len(errors) > 300
    assert np.median(errors) < 0.005
    assert max(errors) < 0.1


def test_run_lengths_go_down_the_columns():
    counts = [2, 3, 1, 4, 2]
    expected = np.repeat([0, 1, 0, 1, 0], counts).reshape(4, 3).T
    found = decode_mask({"counts": counts, "size": [3, 4]}, 3, 4)
    assert np.array_equal(found, expected)
    from pycocotools import mask as coder

    compressed = coder.encode(np.asfortranarray(found))
    assert np.array_equal(decode_mask(compressed, 3, 4), expected)


def folder_with_rectangles(root: Path, pictures=3):
    """Black pictures with a white rectangle each, annotated as the polygon of its outline; one has a crowd, too."""
    (root / "train2017").mkdir(parents=True)
    (root / "annotations").mkdir()
    images, annotations = [], []
    for number in range(pictures):
        height, width = (120, 200) if number % 2 else (160, 90)
        left, top, right, bottom = 30 + number, 40, 75, 100
        pixels = np.zeros((height, width, 3), np.uint8)
        pixels[top:bottom, left:right] = 255
        Image.fromarray(pixels).save(root / "train2017" / f"{number}.png")
        images.append({"id": number, "file_name": f"{number}.png", "height": height, "width": width})
        outline = [left, top, right, top, right, bottom, left, bottom]
        box = [left, top, right - left, bottom - top]
        common = {"image_id": number, "bbox": box, "area": box[2] * box[3]}
        annotations.append({**common, "id": 2 * number, "category_id": 7, "segmentation": [outline], "iscrowd": 0})
        runs = {"counts": [height * width], "size": [height, width]}
        annotations.append({**common, "id": 2 * number + 1, "category_id": 8, "segmentation": runs, "iscrowd": 1})
    content = {"images": images, "annotations": annotations, "categories": [{"id": 7, "name": "flag"}]}
    (root / "annotations" / "instances_train2017.json").write_text(json.dumps(content))
    return load_coco(root)


def test_boxes_and_masks_lie_where_the_picture_shows_the_object(tmp_path):
    """Over flips, scales and cuts: what is white in the square is the box, and the mask fills it."""
    batches = CocoBatches(folder_with_rectangles(tmp_path), 1, 64, seed=3, scales=(0.5, 2.0))
    seen = 0
    for step in range(60):
        pictures, (objects,) = batches.batch(step)
        white = pictures[0, 0] * IMAGENET_STD[0] + IMAGENET_MEAN[0] > 0.5
        if len(objects["boxes"]) == 0:
            assert not white.any()
            continue
        assert objects["labels"].tolist() == [7]
        rows, columns = torch.where(white)
        found = torch.tensor([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]).float()
        torch.testing.assert_close(found, objects["boxes"][0], atol=1.0, rtol=0)
        assert objects["mask_crops"].shape == (1, 112, 112)
        assert objects["mask_crops"].mean() > 0.9  # edges fade over a pixel
        seen += 1
    assert seen > 40


@needs_coco_tiny
def test_real_masks_follow_flips_scales_and_cuts():
    """A crop pasted back into its box is the mask that was flipped, resized and cut as a whole."""
    split = load_coco(COCO_TINY, "train2017", EIGHT)
    overlaps = []
    for number, picture in enumerate(split.pictures):
        size, flipped = 256, bool(number % 2)
        fit = fit_into(picture, size, 1.3, (0.7, 0.4))
        objects = objects_in_square(picture, fit, size, flipped)
        masks = [decode_mask(each.segmentation, picture.height, picture.width) for each in picture.objects]
        whole = torch.from_numpy(np.stack(masks)).float()
        whole = whole.flip(2) if flipped else whole
        whole = torch.nn.functional.interpolate(whole[None], (fit.height, fit.width), mode="bilinear")[0]
        whole = whole[:, fit.top : fit.top + size, fit.left : fit.left + size]
        kept = [mask for mask in whole if (mask >= 0.5).sum() > 400]
        for box, crop in zip(objects["boxes"], objects["mask_crops"], strict=True):
            pasted = paste(crop, box, size)[: whole.shape[1], : whole.shape[2]]
            if pasted.sum() > 400:
                overlaps.append(max(iou(pasted, mask >= 0.5) for mask in kept))
    assert len(overlaps) > 12
    assert min(overlaps) > 0.85
    assert np.mean(overlaps) > 0.95


def paste(crop, box, size):
    """Nearest pixel of the crop for the middle of every pixel of the square."""
    left, top, right, bottom = box.tolist()
    middles = torch.arange(size) + 0.5
    rows = ((middles - top) / (bottom - top) * 112).long()
    columns = ((middles - left) / (right - left) * 112).long()
    inside = ((middles >= top) & (middles < bottom))[:, None] & ((middles >= left) & (middles < right))[None]
    return inside & (crop[rows.clamp(0, 111)][:, columns.clamp(0, 111)] >= 0.5)


def iou(first, second):
    return float((first & second).sum() / (first | second).sum())


def test_a_sample_depends_on_seed_epoch_and_index_alone(tmp_path):
    split = folder_with_rectangles(tmp_path)
    one, same, other = (CocoBatches(split, 2, 64, seed, (0.5, 2.0)).making for seed in (3, 3, 4))
    one[5, 0]
    assert torch.equal(one.sample(4, 1)[0], same.sample(4, 1)[0])
    assert torch.equal(one.sample(4, 1)[1]["mask_crops"], same.sample(4, 1)[1]["mask_crops"])
    assert not torch.equal(one.sample(4, 1)[0], other.sample(4, 1)[0])
    assert not torch.equal(one.sample(4, 1)[0], one.sample(5, 1)[0])


def test_positions_of_the_stream(tmp_path, monkeypatch):
    """p = (step * workers + worker) * images + k is picture permutation(epoch)[p % n] of epoch p // n."""
    split = folder_with_rectangles(tmp_path, pictures=5)
    batches = CocoBatches(split, 2, 64, seed=0, workers=3)
    asked = []
    monkeypatch.setattr(TrainingSquares, "sample", lambda _, *key: asked.append(key) or (torch.zeros(3, 4, 4), {}))
    for step in range(5):
        for worker in range(3):
            batches.batch(step, worker)
    assert len(asked) == 30
    for epoch in range(6):
        of_epoch = [index for each, index in asked if each == epoch]
        assert [each for each, _ in asked[5 * epoch : 5 * epoch + 5]] == [epoch] * 5
        assert sorted(of_epoch) == [0, 1, 2, 3, 4]
    assert len({tuple(index for _, index in asked[i : i + 5]) for i in range(0, 30, 5)}) > 1
    alone = CocoBatches(split, 6, 64, seed=0)
    once = list(asked)
    asked.clear()
    for step in range(5):
        alone.batch(step)
    assert asked == once  # the stream belongs to all workers together


def test_loaders_change_nothing(tmp_path):
    split = folder_with_rectangles(tmp_path)
    here, there = (CocoBatches(split, 2, 64, 3, (0.5, 2.0), workers=2, loaders=loaders) for loaders in (0, 2))
    for key in ((0, 0), (0, 1), (1, 0), (5, 1), (6, 0)):
        (pictures, objects), (others, same) = here.batch(*key), there.batch(*key)
        assert torch.equal(pictures, others)
        assert others.is_contiguous(memory_format=torch.channels_last)
        for mine, other in zip(objects, same, strict=True):
            assert all(torch.equal(mine[name], other[name]) for name in mine)
    there.close()


def test_evaluation_shows_the_whole_picture_at_the_top_left(tmp_path):
    picture = folder_with_rectangles(tmp_path).pictures[1]  # 120 x 200
    square, fit = evaluation_picture(picture, 64)
    assert fit == Fit(38, 64)
    assert square.shape == (3, 64, 64)
    assert (square[:, 38:] == 0).all()
    assert (square[:, :38] != 0).all()
    boxes = torch.tensor([[31.0, 40, 75, 100]])
    torch.testing.assert_close(fit.original_boxes(fit.boxes(boxes, picture), picture), boxes)


def test_mask_crops_by_hand():
    masks = torch.zeros(1, 8, 8)
    masks[0, 2:6, 4:8] = 1
    found = crop_masks(masks, torch.tensor([[0.0, 0, 8, 8]]), size=8)
    assert torch.equal(found, masks)
    assert torch.equal(crop_masks(masks, torch.tensor([[4.0, 2, 8, 6]]), size=4), torch.ones(1, 4, 4))
    assert crop_masks(torch.zeros(0, 8, 8), torch.zeros(0, 4)).shape == (0, 112, 112)


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"instances_val2017\.json is not there: a COCO folder holds val2017/"):
        load_coco(tmp_path, "val2017")
    folder_with_rectangles(tmp_path)
    with pytest.raises(ValueError, match="has no picture 99"):
        load_coco(tmp_path, only=(1, 99))
    wrong = CocoPicture(0, tmp_path / "train2017" / "0.png", 10, 10, (CocoObject((0, 0, 1, 1), 1, [], False),))
    with pytest.raises(ValueError, match="160x90 pixels, its annotations are for 10x10"):
        evaluation_picture(wrong, 64)
