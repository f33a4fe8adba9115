"""What the layer benchmarks time: one layer's forward and backward through autograd, or its forward alone."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

NAMES = ("evonorm-s0", "evonorm-b0", "evonorm-s1", "evonorm-s2", "evonorm-b1", "evonorm-b2")
LARGE = (128, 64, 24, 24)


def bn_relu(channels: int) -> nn.Module:
    return nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU())


def tensors(shape: tuple[int, ...], channels_last: bool = True) -> tuple[Tensor, Tensor]:
    """An input and a gradient of the output."""
    layout = torch.channels_last if channels_last else torch.contiguous_format
    return torch.randn(shape).to(memory_format=layout), torch.randn(shape).to(memory_format=layout)


def step_of(module: Callable[[Tensor], Tensor], x: Tensor, gy: Tensor) -> Callable[[], None]:
    def step() -> None:
        module(x.detach().requires_grad_()).backward(gy)

    return step


def forward_of(module: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[], None]:
    def forward() -> None:
        with torch.no_grad():
            module(x)

    return forward
