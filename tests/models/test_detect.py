"""Detectors: their parts against calculations by hand, and every layer in every position."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import evonorm
from evonorm.data import crop_masks
from evonorm.models import DetectorSettings, create_detector
from evonorm.models.detect.heads import level_anchors
from evonorm.models.detect.mask_rcnn import region_pool
from evonorm.models.detect.mask_targets import region_masks
from evonorm.models.detect.settings import DetectorShape
from evonorm.models.detect.spinenet import leftovers
from evonorm.models.forward_trace import Position

pytest.importorskip("torchvision")

FEW = DetectorSettings(regions=16, candidates=100, candidates_at_test=50, proposals=50)
LAYERS = ["bn-relu", "gn-relu", "bn-silu", "evonorm-b0", "evonorm-s0", "x * sigmoid(x) / rms_whcg(x)"]


def pictures(count=2, size=128):
    return torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(1))


def targets(count=2, size=128):
    boxes = torch.tensor([[10.0, 20, 60, 90], [50, 50, 120, 100]]) * size / 128
    masks = torch.zeros(2, size, size)
    for mask, (left, top, right, bottom) in zip(masks, boxes.int().tolist(), strict=True):
        mask[top:bottom, left : (left + right) // 2] = 1
    return [{"boxes": boxes, "labels": torch.tensor([3, 90]), "masks": masks} for _ in range(count)]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_trains_everywhere_and_detects(layer):
    model = create_detector("maskrcnn-nano", layer, settings=FEW).to(memory_format=torch.channels_last)
    losses = model(pictures(), targets())
    assert list(losses) == ["proposal score", "proposal box", "class", "box", "mask"]
    sum(losses.values()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    with torch.no_grad():
        model.roi_heads.box_predictor.scores.bias[5] = 9.0  # an untrained model is sure of nothing
        found = model.eval()(list(pictures()))
    for each in found:
        count = len(each["boxes"])
        assert 0 < count <= 100
        assert each["masks"].shape == (count, 1, 28, 28)
        assert set(each["labels"].tolist()) == {5}
        assert each["boxes"].min() >= 0
        assert each["boxes"].max() <= 128


@pytest.mark.parametrize("layer", LAYERS)
def test_pictures_without_objects(layer):
    model = create_detector("maskrcnn-nano", layer, settings=FEW)
    nothing = {
        "boxes": torch.zeros(0, 4),
        "labels": torch.zeros(0, dtype=torch.int64),
        "masks": torch.zeros(0, 128, 128),
    }
    losses = model(pictures(), [nothing, nothing])
    assert losses["mask"] == losses["box"] == losses["proposal box"] == 0
    sum(losses.values()).backward()
    assert all(buffer.isfinite().all() for buffer in model.buffers())  # moments of nothing are not kept
    assert len(model.eval()(pictures())[0]["boxes"]) == 0  # the mask head sees an empty batch


def test_boxes_stay_exact_under_autocast():
    """A box of 1000 pixels is known to 4 in bfloat16: nothing that boxes are made of may be."""
    model = create_detector("maskrcnn-nano", "evonorm-s0", settings=FEW)
    with torch.autocast("cpu", torch.bfloat16):
        losses = model(pictures(), targets())
        sum(losses.values()).backward()
        model.roi_heads.box_predictor.scores.bias.data[5] = 9.0
        with torch.no_grad():
            found = model.eval()(pictures())[0]
    assert {each.dtype for each in losses.values()} == {torch.float32}
    assert found["boxes"].dtype == found["masks"].dtype == torch.float32
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_a_spinenet_trains():
    model = create_detector("maskrcnn-spinenet49s", "evonorm-s0", width=0.25, settings=FEW)
    sum(model(pictures(), targets()).values()).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("name", ["maskrcnn-r50-fpn", "maskrcnn-spinenet96"])
def test_no_other_norm_is_left_and_each_part_has_its_layers(name):
    with torch.device("meta"):
        model = evonorm.create_model(name, Position)
    norms = (nn.modules.batchnorm._BatchNorm, nn.GroupNorm, nn.LayerNorm)
    assert not [module for module in model.modules() if isinstance(module, norms)]
    inside = {
        part: [(each.channels, each.nonlinearity) for each in module.modules() if isinstance(each, Position)]
        for part, module in (
            ("proposals", model.rpn),
            ("box head", model.roi_heads.box_head),
            ("box predictor", model.roi_heads.box_predictor),
            ("mask head", model.roi_heads.mask_head),
            ("mask predictor", model.roi_heads.mask_predictor),
        )
    }
    assert inside == {
        "proposals": [(256, True)] * 5,
        "box head": [(256, True)] * 4 + [(1024, True)],
        "box predictor": [],
        "mask head": [(256, True)] * 4,
        "mask predictor": [(256, True)],
    }
    biased = [n for n, m in model.backbone.named_modules() if isinstance(m, nn.Conv2d) and m.bias is not None]
    assert all(each.startswith("pyramid") for each in biased)
    assert len(biased) == (9 if name == "maskrcnn-r50-fpn" else 0)


def test_only_the_unread_block_of_level_5_is_taken_in():
    """By hand: of the blocks before the outputs nothing reads number 11, a bottleneck of level 5 as output 14 is."""
    assert leftovers() == (*((),) * 12, (11,), (), ())


def test_anchors_by_hand():
    found = level_anchors(torch.empty(1, 1, 2, 3), stride=4, size=8).view(2, 3, 3, 4)  # row, column, aspect
    assert found[1, 2, 0].tolist() == [10 - 16, 6 - 16, 10 + 16, 6 + 16]
    width, height = (found[0, 0, 1, 2:] - found[0, 0, 1, :2]).tolist()
    assert width == pytest.approx(2 * height)
    assert width * height == pytest.approx(32**2)
    centres = (found[..., :2] + found[..., 2:]) / 2
    torch.testing.assert_close(centres, centres[:, :, :1].expand_as(centres))


def test_regions_are_cropped_at_the_levels_true_strides_whatever_the_first_picture_was():
    """The trap: torchvision guesses strides from the first batch. A map of x coordinates must give x coordinates."""
    shape = DetectorShape(levels=(2, 6), anchor_size=8)
    maps = {
        str(level): (torch.arange(1024 >> level) * float(1 << level)).expand(1, 1, 1024 >> level, -1)
        for level in shape.all_levels
    }
    boxes = torch.tensor([[100.0, 50, 184, 120], [64, 64, 512, 512], [0, 0, 960, 960]])  # levels 2, 5 and 6
    found = region_pool(shape, 7)(maps, [boxes], [(683, 1024)])
    middles = boxes[:, :1] + (torch.arange(7) + 0.5) / 7 * (boxes[:, 2:3] - boxes[:, :1])
    torch.testing.assert_close(found[:, 0, 3], middles.clamp(max=960))


def test_a_mask_seen_through_a_region():
    """The left half of a box is object; regions see their part of it, and nothing outside the box."""
    boxes = torch.tensor([[10.0, 20, 50, 60]]).expand(3, 4)
    crops = torch.zeros(3, 112, 112)
    crops[:, :, :56] = 1
    regions = torch.tensor([[10.0, 20, 50, 60], [30, 20, 50, 60], [-30, 20, 50, 60]])
    whole, right, wide = region_masks(crops, boxes, regions, 28)
    assert torch.equal(whole, torch.cat([torch.ones(28, 14), torch.zeros(28, 14)], 1))
    assert right.sum() == 0
    assert torch.equal(wide, torch.cat([torch.zeros(28, 14), torch.ones(28, 7), torch.zeros(28, 7)], 1))


def test_masks_of_the_whole_picture_and_their_crops_are_the_same():
    model = create_detector("maskrcnn-nano", settings=FEW)
    whole = targets()
    cropped = [
        {"boxes": each["boxes"], "labels": each["labels"], "mask_crops": crop_masks(each["masks"], each["boxes"])}
        for each in whole
    ]
    losses = []
    for each in (whole, cropped):
        torch.manual_seed(3)
        losses.append(torch.stack(list(model(pictures(), each).values())))
    assert torch.equal(*losses)


def test_what_follows_the_sum_is_a_setting():
    torch.manual_seed(0)
    plain = create_detector("maskrcnn-nano", "evonorm-b0", settings=FEW)
    open_ended = create_detector("maskrcnn-nano", "evonorm-b0", settings=DetectorSettings(after_sum="none", regions=16))
    open_ended.load_state_dict(plain.state_dict())
    maps = [model.eval().backbone.blocks[0](torch.randn(1, 16, 8, 8)) for model in (plain, open_ended)]
    assert maps[0].min() == 0
    assert maps[1].min() < 0


def test_bad_pictures_targets_names_and_settings():
    model = create_detector("maskrcnn-nano", settings=FEW)
    with pytest.raises(ValueError, match="multiples of 64, got 128x100"):
        model(torch.zeros(1, 3, 128, 100))
    with pytest.raises(ValueError, match="each of the 2 pictures needs a target"):
        model(pictures())
    with pytest.raises(ValueError, match="no width or no height"):
        model(pictures(1), [{**targets(1)[0], "boxes": torch.tensor([[1.0, 1, 1, 5], [0, 0, 5, 5]])}])
    with pytest.raises(ValueError, match=r"needs masks \(n, 128, 128\) or mask_crops"):
        model(pictures(1), [{**targets(1)[0], "masks": torch.zeros(2, 64, 64)}])
    with pytest.raises(ValueError, match=r"no detector 'maskrcnn-r50'\. Did you mean maskrcnn-r50-fpn"):
        create_detector("maskrcnn-r50")
    for bad in ({"after_sum": "tanh"}, {"losses": "keras"}, {"regions": 0}, {"least_score": 1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            DetectorSettings(**bad)
    with pytest.raises(ValueError, match="leaves no channels"):
        evonorm.create_model("maskrcnn-spinenet49", width=0.0)


def test_torchvision_is_imported_when_a_detector_is_built_and_not_before(monkeypatch):
    code = "import sys, evonorm.models; print('torchvision' in sys.modules)"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "False"
    monkeypatch.setitem(sys.modules, "torchvision.models.detection.rpn", None)
    with pytest.raises(ValueError, match=r"a detector needs the package .*evonorm\[vision\]"):
        evonorm.create_model("maskrcnn-nano")
