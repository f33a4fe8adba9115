"""What the layer benchmarks time."""

from torch import nn

NAMES = ("evonorm-s0", "evonorm-b0", "evonorm-s1", "evonorm-s2", "evonorm-b1", "evonorm-b2")
LARGE = (128, 64, 24, 24)


def bn_relu(channels: int) -> nn.Module:
    return nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU())
