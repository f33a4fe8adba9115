"""A layer of your own in a net of your own: a formula in place of BatchNorm and ReLU.

    python examples/own_layer.py

The task is made up: which way do the stripes of a noisy picture run? Needs torch and evonorm alone.
"""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

import evonorm

MINE = "x * sigmoid(v1 * x) / rms_whcg(x)"


def net(layer: str) -> nn.Module:
    """Three convolutions, each with a layer behind it, and a classifier."""
    widths = (1, 16, 32, 64)
    parts: list[nn.Module] = []
    for before, after in pairwise(widths):
        parts += [nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False), evonorm.create_layer(layer, after)]
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 4))


def stripes(count: int, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """Pictures of 16x16 with stripes in one of four directions, under noise, and which one."""
    labels = torch.randint(4, (count,), generator=draw)
    angle = labels * math.pi / 4 + 0.1 * torch.randn(count, generator=draw)
    y, x = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    along = x * angle.cos()[:, None, None] + y * angle.sin()[:, None, None]
    phase = 6 * torch.rand(count, 1, 1, generator=draw)
    return (torch.sin(along + phase) + 2 * torch.randn(count, 16, 16, generator=draw))[:, None], labels


def train(layer: str, steps: int = 150) -> float:
    """The share of right answers on pictures that it has not seen."""
    torch.manual_seed(0)
    draw, model = torch.Generator().manual_seed(0), net(layer)
    spared = evonorm.no_weight_decay(model)
    decayed = [parameter for name, parameter in model.named_parameters() if name not in spared]
    rest = [parameter for name, parameter in model.named_parameters() if name in spared]
    optimizer = torch.optim.AdamW([{"params": decayed}, {"params": rest, "weight_decay": 0.0}], lr=3e-3)
    for _ in range(steps):
        pictures, labels = stripes(32, draw)
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    pictures, labels = stripes(1000, torch.Generator().manual_seed(1))
    with torch.no_grad():
        return float((model.eval()(pictures).argmax(1) == labels).float().mean())


if __name__ == "__main__":
    for layer in ("bn-relu", MINE):
        print(f"{layer}: {100 * train(layer):.1f} % right")
