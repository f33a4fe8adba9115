"""A search for a layer for your own net and your own data: a function that judges a layer is all it takes.

    python examples/own_search.py

It trains the net of `own_layer.py` with every layer that is proposed. Stop it whenever you like, also by kill -9: the
same command goes on. Then look: `evonorm top stripes`, `evonorm report stripes`.
"""

import torch
from own_layer import stripes
from torch import nn

import evonorm


def objective(layer: evonorm.LayerTrial) -> float:
    """The share of right answers after 60 steps."""
    torch.manual_seed(layer.seed)
    convolutions = [nn.Conv2d(1, 16, 3, 2, 1, bias=False), layer(16), nn.Conv2d(16, 32, 3, 2, 1, bias=False), layer(32)]
    net = nn.Sequential(*convolutions, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 4))
    optimizer, draw = torch.optim.Adam(net.parameters(), lr=3e-3), torch.Generator().manual_seed(layer.seed)
    for step in range(60):
        pictures, labels = stripes(32, draw)
        loss = nn.functional.cross_entropy(net(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        layer.report(step + 1, 60)
    pictures, labels = stripes(500, torch.Generator().manual_seed(1))
    with torch.no_grad():
        return float((net.eval()(pictures).argmax(1) == labels).float().mean())


if __name__ == "__main__":
    for found in evonorm.find_layers(objective, "stripes", candidates=20, cost="nodes")[:3]:
        print(f"{100 * found.average:.1f} % right, n = {found.runs}: {found.formula}")
