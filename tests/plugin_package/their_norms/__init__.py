"""A package of somebody else: two functions, two index sets, two layers, a model, an anchor, data and a task."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

import evonorm
from evonorm.data import DataSet, Images
from evonorm.training import Measure, Turn


def softsign_backward(g, y, a):
    return (g / np.square(1 + np.abs(a)),)


def softsign(a):
    return a / (1 + np.abs(a))


def soft_min(a, b):
    return -np.logaddexp(-a, -b)


def soft_min_backward(g, y, a, b):
    to_a = g / (1 + np.exp(a - b))
    return to_a, g - to_a


SOFT_MIN = """
def soft_min(a: Tensor, b: Tensor) -> Tensor:
    return -torch.logaddexp(-a, -b)
"""


class Doubled(nn.Module):
    """A layer that is no formula."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.full((channels, 1, 1), 2.0))

    def forward(self, x):
        return x * self.weight


def build_doubled(channels, nonlinearity, groups, eps, momentum):
    return Doubled(channels)


def build_net(layer, num_classes, width):
    channels = int(16 * width)
    features = nn.Sequential(
        nn.Conv2d(3, channels, 3, stride=2, bias=False), layer(channels), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    return nn.Sequential(features, nn.Linear(channels, num_classes))


def load_noise():
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(10, (600,), generator=generator, dtype=torch.uint8)
    pixels = torch.randint(256, (600, 32, 32, 3), generator=generator, dtype=torch.uint8)
    parts = [Images(pixels, labels, rows) for rows in torch.arange(600).split(200)]
    return DataSet("noise", *parts, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))


@dataclass(frozen=True)
class MeanSettings:
    """What a recipe can choose of their task."""

    level: float = 0.5


class MeanTask:
    """Brings a layer's mean output to a level; how far off it is decides, and less is better."""

    def __init__(self, layer, settings, recipe, seed):
        torch.manual_seed(seed)
        self.model, self.level = evonorm.create_layer(layer, 4), settings.level
        self.turns = (Turn("layer", self.model, self.losses),)

    def losses(self, batch):
        return {"distance": (self.model(batch).mean() - self.level).square()}

    def batch(self, step, worker, turn):
        return torch.randn(16, 4, 3, 3, generator=torch.Generator().manual_seed(100 * step + worker))

    def measure(self, step):
        with torch.no_grad():
            return (Measure("distance", float(self.losses(self.batch(9999, 0, 0))["distance"]), more_is_better=False),)


def register():
    evonorm.register_primitive(
        "softsign",
        torch="{0} / (1 + torch.abs({0}))",
        numpy=softsign,
        numpy_backward=softsign_backward,
        laws=("odd", "zero_at_zero", "keeps_sign"),
        searched=True,
    )
    evonorm.register_primitive(
        "soft_min",
        torch="soft_min({0}, {1})",
        functions=(SOFT_MIN,),
        numpy=soft_min,
        numpy_backward=soft_min_backward,
        laws=("commutative",),
        symbol="smin",
        cost=3,
    )
    evonorm.register_index_set("c", axes="cg")  # evonorm has the very same one
    evonorm.register_index_set("bwhc", axes="bscg", searched=True)
    evonorm.register_layer("softsign-rms", "softsign(x) / rms_bwhc(x)", source="their paper")
    evonorm.register_layer("doubled", build=build_doubled)
    evonorm.register_model("their-net", build_net, image_size=16, num_classes=10)
    evonorm.register_anchor("their-anchor", build_net, batch_size=16, crop=16, groups=4)
    evonorm.register_data("their-noise", load_noise)
    evonorm.register_task("their-mean", MeanSettings, MeanTask)
