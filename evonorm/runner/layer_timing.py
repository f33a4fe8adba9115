"""How fast a layer is on this machine, alone or inside a model, beside torch's BatchNorm and ReLU."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from evonorm.fitness import COSTS, Priced, cost_front, cost_named
from evonorm.foundation import unknown_name
from evonorm.journal import Ranked
from evonorm.layers import create_layer
from evonorm.models import create_model
from evonorm.runner.timing import Seconds, alternate, milliseconds, ratio

BASELINE = "bn-relu"
TIME = "time"  # as a cost: measured, so it depends on the machine
TIMED_SHAPE, TIMED_ROUNDS = (64, 64, 16, 16), 7


@dataclass(frozen=True)
class Timed:
    """A layer's median time, and the median of its ratios to BN-ReLU inside each round."""

    layer: str
    milliseconds: float
    ratio: float


def bench_layers(layers: Sequence[str], shape: tuple[int, ...], channels_last: bool, rounds: int) -> list[list[Timed]]:
    """Forward and backward, then forward alone, of each layer and of BN-ReLU."""
    x, gy = tensors(shape, channels_last)
    modules = {layer: create_layer(layer, shape[1]) for layer in dict.fromkeys((BASELINE, *layers))}
    both = alternate({layer: step_of(module, x, gy) for layer, module in modules.items()}, rounds)
    forward = alternate({layer: forward_of(module, x) for layer, module in modules.items()}, rounds)
    return [_timed(both), _timed(forward)]


def bench_model(
    layers: Sequence[str], model: str, channels_last: bool, batch: int, size: int, rounds: int
) -> list[Timed]:
    """A whole training step with each layer and with BN-ReLU."""
    names = dict.fromkeys((BASELINE, *layers))
    return _timed(alternate({name: training_step(model, name, channels_last, batch, size) for name in names}, rounds))


def priced_front(functions: Sequence[Ranked], cost: str) -> tuple[list[Priced], str]:
    """Which of these functions none is both cheaper and better than, by a cost's name; and what the cost is in."""
    if cost not in (*COSTS, TIME):
        raise unknown_name("cost", cost, (*COSTS, TIME))
    if cost != TIME:
        return cost_front(functions, cost_named(cost)), cost
    texts = {each.graph: str(each.graph) for each in functions}
    both, _ = bench_layers(list(texts.values()), TIMED_SHAPE, channels_last=True, rounds=TIMED_ROUNDS)
    ratios = {each.layer: each.ratio for each in both}
    return cost_front(functions, lambda graph: ratios[texts[graph]]), "time/bn-relu"


def _timed(seconds: Seconds) -> list[Timed]:
    return [Timed(name, milliseconds(found), ratio(seconds, name, BASELINE)) for name, found in seconds.items()]


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


def training_step(model: str, layer: str, channels_last: bool, batch: int, size: int) -> Callable[[], None]:
    """Forward, backward and SGD with momentum on random images."""
    layout = torch.channels_last if channels_last else torch.contiguous_format
    net = create_model(model, layer=layer, num_classes=10).to(memory_format=layout).train()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    images = torch.randn(batch, 3, size, size).to(memory_format=layout)
    labels = torch.randint(10, (batch,))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(net(images), labels).backward()
        optimizer.step()

    return step
