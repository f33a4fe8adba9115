"""Losses: TensorFlow's written down a second time in numpy loops, torchvision's against torchvision itself."""

import numpy as np
import pytest
import torch

from evonorm.models import DetectorSettings, create_detector
from evonorm.models.detect.losses import ProposalOutputs, RegionOutputs, tensorflow_losses
from tests.models.test_detect import pictures, targets

pytest.importorskip("torchvision")

PICTURES, LEVELS, ANCHORS = 2, (12, 6, 2), 8
CLASSES, REGIONS = 5, 9


def outputs():
    generator = torch.Generator().manual_seed(5)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    rows = PICTURES * sum(LEVELS)
    labels = torch.randint(-1, 2, (rows,), generator=generator).double()
    labels[[18, 19, 38, 39]] = 0  # the coarsest level has no positive anchor
    right = normal(rows, 4) * 0.2
    right[torch.where(labels == 1)[0][0], 2] = 0  # a coordinate that is right by chance
    sampled = torch.where(labels >= 0)[0][::2]
    classes = torch.tensor([0, 3, 0, 1, 4, 0, 0, 2, 3])
    masks = int((classes > 0).sum())
    return (
        ProposalOutputs(normal(rows), normal(rows, 4) * 0.2, labels, right, sampled, PICTURES, LEVELS),
        RegionOutputs(
            normal(REGIONS, CLASSES),
            normal(REGIONS, 4 * CLASSES),
            classes,
            normal(REGIONS, 4),
            normal(masks, CLASSES, 6, 6),
            (normal(masks, 6, 6) > 0).double(),
        ),
    )


def huber(error, delta):
    size = abs(error)
    return 0.5 * size**2 if size <= delta else delta * size - 0.5 * delta**2


def cross_entropy(logit, target):
    chance = 1 / (1 + np.exp(-logit))
    return -(target * np.log(chance) + (1 - target) * np.log(1 - chance))


def by_hand(proposals, regions):
    score = sum(cross_entropy(proposals.scores[i], proposals.labels[i]) for i in proposals.sampled.tolist())
    box = 0.0
    for level in range(len(LEVELS)):
        first = sum(LEVELS[:level])
        errors = [
            huber(proposals.changes[row, k] - proposals.right_changes[row, k], 1 / 9)
            for picture in range(PICTURES)
            for row in range(picture * sum(LEVELS) + first, picture * sum(LEVELS) + first + LEVELS[level])
            for k in range(4)
            if proposals.labels[row] == 1 and proposals.right_changes[row, k] != 0
        ]
        box += np.mean(errors) if errors else 0.0
    exponents = np.exp(regions.scores)
    of_class = [-np.log(exponents[i, label] / exponents[i].sum()) for i, label in enumerate(regions.labels)]
    positive = [i for i, label in enumerate(regions.labels) if label > 0]
    of_box = [
        huber(regions.changes[i, 4 * regions.labels[i] + k] - regions.right_changes[i, k], 1.0)
        for i in positive
        for k in range(4)
    ]
    of_mask = [
        cross_entropy(regions.mask_logits[n, regions.labels[i]], regions.right_masks[n]).mean()
        for n, i in enumerate(positive)
    ]
    return [score / (PICTURES * ANCHORS), box, np.mean(of_class), np.mean(of_box), np.mean(of_mask)]


def test_tensorflows_losses_by_hand():
    proposals, regions = outputs()
    found = tensorflow_losses(proposals, regions, ANCHORS)
    as_arrays = [
        type(each)(*(value.numpy() if isinstance(value, torch.Tensor) else value for value in vars(each).values()))
        for each in (proposals, regions)
    ]
    np.testing.assert_allclose([each.item() for each in found.values()], by_hand(*as_arrays), rtol=1e-12)


def test_torchvisions_losses_are_torchvisions():
    """The same model, maps and random numbers through torchvision's own forward passes."""
    settings = DetectorSettings(losses="torchvision", regions=32)
    model = create_detector("maskrcnn-nano", "gn-relu", settings=settings)
    images, wanted = pictures(), targets()
    torch.manual_seed(7)
    ours = list(model(images, wanted).values())
    torch.manual_seed(7)
    maps = model.backbone(images)
    boxes, theirs = model.rpn(model._listed(images), maps, wanted)
    theirs |= model.roi_heads(maps, boxes, [(128, 128)] * 2, wanted)[1]
    for mine, name in zip(ours, ("objectness", "rpn_box_reg", "classifier", "box_reg"), strict=False):
        torch.testing.assert_close(mine, theirs[f"loss_{name}"])
    # their mask targets are cut from the whole picture in several samples a pixel, ours from 112x112 crops
    torch.testing.assert_close(ours[4], theirs["loss_mask"], rtol=0.02, atol=0.0)


def test_a_step_with_tensorflows_losses_falls():
    torch.manual_seed(0)
    model = create_detector("maskrcnn-nano", "evonorm-s0", settings=DetectorSettings(regions=16))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    sums = []
    for _ in range(8):
        optimizer.zero_grad()
        total = sum(model(pictures(), targets()).values())
        total.backward()
        optimizer.step()
        sums.append(total.item())
    assert sums[-1] < 0.75 * sums[0]
