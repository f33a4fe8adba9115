"""What looks at the maps of a pyramid: proposals, boxes and masks.

They take the places of torchvision's heads, which have their norms and ReLUs apart or none at all. Here a layer follows
every convolution and dense layer but the last ones; all of those keep their biases, as in the paper's code. What they
give out is float32 also under autocast: boxes are computed from it.
"""

import math

import torch
from torch import Tensor, nn

from evonorm.models.detect.settings import DetectorShape
from evonorm.models.hole import LayerHole
from evonorm.models.initialization import fan_out_normal_, zero_biases

ASPECTS = (1.0, 2.0, 0.5)  # width over height of an anchor
BOX_SIZE, MASK_SIZE = 7, 14  # pixels of a region's crop


class ProposalHead(nn.Module):
    """One 3x3 convolution for all levels, a layer for each of them, scores and box changes of each anchor."""

    def __init__(self, shape: DetectorShape, layer: LayerHole) -> None:
        super().__init__()
        channels = shape.channels
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.layers = nn.ModuleList(layer(channels) for _ in shape.all_levels)
        self.scores = nn.Conv2d(channels, len(ASPECTS), 1)
        self.changes = nn.Conv2d(channels, 4 * len(ASPECTS), 1)
        for each in (self.conv, self.scores, self.changes):
            nn.init.normal_(each.weight, std=0.01)
        zero_biases(self)

    def forward(self, maps: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        scores, changes = [], []
        for layer, each in zip(self.layers, maps, strict=True):
            seen = layer(self.conv(each))
            scores.append(self.scores(seen).float())
            changes.append(self.changes(seen).float())
        return scores, changes


class AnchorBoxes(nn.Module):
    """Anchors with their centres in the middle of each pixel of a map, as in the paper's code.

    torchvision's stand on the pixels' corners, with sides that are rounded.
    """

    def __init__(self, shape: DetectorShape) -> None:
        super().__init__()
        self.shape = shape

    def num_anchors_per_location(self) -> list[int]:
        return [len(ASPECTS)] * len(self.shape.all_levels)

    def forward(self, images: object, maps: list[Tensor]) -> list[Tensor]:  # noqa: ARG002 (torchvision's face)
        """For each picture the (x1, y1, x2, y2) of all anchors: by level, row, column and aspect."""
        levels = zip(self.shape.all_levels, maps, strict=True)
        every = torch.cat([level_anchors(each, 1 << level, self.shape.anchor_size) for level, each in levels])
        return [every] * len(maps[0])


def level_anchors(image: Tensor, stride: int, size: float) -> Tensor:
    """Of one map (b, c, h, w), (h * w * aspects, 4)."""
    height, width = image.shape[2:]
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    centres = ((torch.stack([x, y], -1) + 0.5) * stride).view(-1, 1, 2)
    halves = torch.tensor([(math.sqrt(each), 1 / math.sqrt(each)) for each in ASPECTS]) * (size * stride / 2)
    corners = torch.cat([centres - halves, centres + halves], -1)  # (h * w, aspects, 4)
    return corners.view(-1, 4).to(image.device)


def head_convs(shape: DetectorShape, layer: LayerHole) -> nn.Sequential:
    """The 3x3 convolutions with a layer each that box and mask head begin with."""
    steps = nn.Sequential()
    for _ in range(shape.convs):
        step = nn.Conv2d(shape.channels, shape.channels, 3, padding=1)
        fan_out_normal_(step.weight, groups=1)
        steps.extend([step, layer(shape.channels)])
    zero_biases(steps)
    return steps


class BoxHead(nn.Module):
    """Convolutions and one dense layer over a region's crop, (n, c, 7, 7) to (n, dense)."""

    def __init__(self, shape: DetectorShape, layer: LayerHole) -> None:
        super().__init__()
        self.convs = head_convs(shape, layer)
        self.dense = nn.Linear(shape.channels * BOX_SIZE**2, shape.dense)
        self.dense_layer = layer(shape.dense)
        nn.init.xavier_uniform_(self.dense.weight)
        zero_biases(self)

    def forward(self, regions: Tensor) -> Tensor:
        return self.dense_layer(self.dense(self.convs(regions).flatten(1)))


class BoxPredictor(nn.Module):
    """Class scores (n, classes) and a box change for each class (n, 4 * classes)."""

    def __init__(self, shape: DetectorShape, num_classes: int) -> None:
        super().__init__()
        self.scores = nn.Linear(shape.dense, num_classes)
        self.changes = nn.Linear(shape.dense, 4 * num_classes)
        nn.init.normal_(self.scores.weight, std=0.01)
        nn.init.normal_(self.changes.weight, std=0.001)
        zero_biases(self)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.scores(x).float(), self.changes(x).float()


class MaskPredictor(nn.Module):
    """Twice the size by a deconvolution, a layer, and a mask's logits for each class: (n, classes, 28, 28)."""

    def __init__(self, shape: DetectorShape, layer: LayerHole, num_classes: int) -> None:
        super().__init__()
        self.enlarge = nn.ConvTranspose2d(shape.channels, shape.channels, 2, 2)
        self.layer = layer(shape.channels)
        self.logits = nn.Conv2d(shape.channels, num_classes, 1)
        fan_out_normal_(self.enlarge.weight, groups=1)
        fan_out_normal_(self.logits.weight, groups=1)
        zero_biases(self)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.logits(self.layer(self.enlarge(x)))
        return logits.float()
