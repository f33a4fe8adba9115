"""Right answers on held-out pictures, with the moving moments or with moments estimated anew."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


def accuracy(model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]]) -> float:
    """The share of pictures whose label has the largest logit; a picture with a non-finite logit counts as wrong."""
    right, _, total = right_answers(model, batches)
    return right / total


@torch.no_grad()
def right_answers(model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]]) -> tuple[int, int, int]:
    """How many labels have the largest logit, how many are among the five largest, and how many pictures there are."""
    model.eval()
    first = among_five = total = 0
    for pictures, labels in batches:
        logits = model(pictures)
        finite = torch.isfinite(logits).all(1)
        first += int(((logits.argmax(1) == labels) & finite).sum())
        best = logits.topk(min(5, logits.shape[1])).indices  # (n, 5)
        among_five += int(((best == labels[:, None]).any(1) & finite).sum())
        total += len(labels)
    return first, among_five, total


@contextmanager
def reestimated_moments(model: nn.Module, batches: Iterable[Any]) -> Iterator[None]:
    """Inside, the moving moments are the plain average over these batches; afterwards they are as they were.

    A batch is what the model is called with: pictures, or several tensors.

    After a few steps of training a moving average of decay 0.9 still remembers the first weights; this does not.
    Holds for every layer that has `momentum` and `reset_running_stats`: torch's BatchNorm and NormAct.
    """
    layers: list[Any] = [module for module in model.modules() if hasattr(module, "reset_running_stats")]
    momenta = [layer.momentum for layer in layers]
    kept = {name: buffer.clone() for name, buffer in model.named_buffers()}
    try:
        _average_moments(model, layers, batches)
        yield
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        for name, buffer in model.named_buffers():
            buffer.copy_(kept[name])


@torch.no_grad()
def _average_moments(model: nn.Module, layers: list[Any], batches: Iterable[Any]) -> None:
    for layer in layers:
        layer.reset_running_stats()
    model.train()
    with torch.random.fork_rng(devices=[]):
        for number, batch in enumerate(batches, start=1):
            for layer in layers:
                layer.momentum = 1 / number
            model(*batch) if isinstance(batch, tuple) else model(batch)
