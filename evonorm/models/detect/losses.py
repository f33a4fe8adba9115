"""What a detector minimizes, by the paper's code (TensorFlow) or by torchvision.

| loss | TensorFlow | torchvision |
|---|---|---|
| proposal score | cross entropy, sum / (pictures x 256) | mean over the sampled anchors |
| proposal box | Huber, delta 1/9; mean over the coordinates of all positive anchors, summed over levels | smooth L1, beta 1/9: nine times Huber; sum over sampled positives / sampled anchors |
| class | cross entropy, mean over regions | the same |
| box | Huber, delta 1; mean over the coordinates of positive regions | smooth L1, beta 1/9; sum / regions |
| mask | cross entropy, mean over positive regions | the same |

A mean over nothing is 0, as there.
"""  # noqa: E501 (a table)

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

SMALL_DELTA = 1 / 9


@dataclass(frozen=True)
class ProposalOutputs:
    """What the region proposal network said about every anchor of every picture, and what was right.

    All are flat over pictures, then levels; `labels` is 1 on objects, 0 on background, -1 in between.
    """

    scores: Tensor  # (pictures * anchors,)
    changes: Tensor  # (pictures * anchors, 4)
    labels: Tensor
    right_changes: Tensor
    sampled: Tensor  # rows that count
    pictures: int
    level_sizes: Sequence[int]  # anchors of each level, of one picture


@dataclass(frozen=True)
class RegionOutputs:
    """What the heads said about the sampled regions of all pictures, and what was right."""

    scores: Tensor  # (n, classes)
    changes: Tensor  # (n, 4 * classes)
    labels: Tensor  # (n,), 0 for background
    right_changes: Tensor  # (n, 4)
    mask_logits: Tensor  # (positive regions, classes, 28, 28)
    right_masks: Tensor  # (positive regions, 28, 28)


def tensorflow_losses(proposals: ProposalOutputs, regions: RegionOutputs, anchors: int) -> dict[str, Tensor]:
    """The losses of the paper's code; `anchors` are sampled of a picture."""
    of_sampled = proposals.scores[proposals.sampled], proposals.labels[proposals.sampled]
    score = F.binary_cross_entropy_with_logits(*of_sampled, reduction="sum") / (proposals.pictures * anchors)
    positive = regions.labels > 0
    chosen = own_changes(regions)[positive]
    return {
        "proposal score": score,
        "proposal box": _proposal_box(proposals),
        "class": F.cross_entropy(regions.scores, regions.labels),
        "box": _mean(F.huber_loss(chosen, regions.right_changes[positive], reduction="none", delta=1.0)),
        "mask": mask_loss(regions),
    }


def _proposal_box(proposals: ProposalOutputs) -> Tensor:
    levels = torch.arange(len(proposals.level_sizes)).repeat_interleave(torch.tensor(proposals.level_sizes))
    positive = torch.where(proposals.labels == 1)[0]
    level_of = levels.to(positive.device)[positive % len(levels)]
    said, right = proposals.changes[positive], proposals.right_changes[positive]
    huber = F.huber_loss(said, right, reduction="none", delta=SMALL_DELTA)
    # TensorFlow's weights are `targets != 0`: the rare coordinate that is right by chance is not counted
    return torch.stack(
        [_mean(huber[(level_of[:, None] == level) & (right != 0)]) for level in range(len(proposals.level_sizes))]
    ).sum()


def torchvision_losses(proposals: ProposalOutputs, regions: RegionOutputs, anchors: int) -> dict[str, Tensor]:  # noqa: ARG001
    """The losses of torchvision's Mask R-CNN."""
    from torchvision.models.detection.roi_heads import fastrcnn_loss  # type: ignore[import-untyped]

    positive = proposals.sampled[proposals.labels[proposals.sampled] == 1]
    difference = proposals.changes[positive], proposals.right_changes[positive]
    right = [regions.labels], [regions.right_changes]
    classes, boxes = fastrcnn_loss(regions.scores, regions.changes, *right)
    return {
        "proposal score": F.binary_cross_entropy_with_logits(
            proposals.scores[proposals.sampled], proposals.labels[proposals.sampled]
        ),
        "proposal box": F.smooth_l1_loss(*difference, beta=SMALL_DELTA, reduction="sum") / len(proposals.sampled),
        "class": classes,
        "box": boxes,
        "mask": mask_loss(regions),
    }


def own_changes(regions: RegionOutputs) -> Tensor:
    """The box change of each region for its right class, (n, 4)."""
    rows = torch.arange(len(regions.labels), device=regions.labels.device)
    return regions.changes.view(len(regions.labels), -1, 4)[rows, regions.labels]


def mask_loss(regions: RegionOutputs) -> Tensor:
    """Over the positive regions, on the logits of each one's class alone."""
    labels = regions.labels[regions.labels > 0]
    logits = regions.mask_logits[torch.arange(len(labels), device=labels.device), labels]
    return _mean(F.binary_cross_entropy_with_logits(logits, regions.right_masks, reduction="none"))


def _mean(values: Tensor) -> Tensor:
    return values.sum() / max(1, values.numel())


LOSSES = {"tensorflow": tensorflow_losses, "torchvision": torchvision_losses}
