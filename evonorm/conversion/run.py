"""Calls a model with an example, in evaluation and in training, without leaving a trace."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

Example = Any
"""A tensor, a tuple or list of arguments, or a dict of arguments by name."""

SIZES = (64, 32, 224, 28, 128, 96, 299, 256, 384, 512)  # of pictures that are tried when no example is given


def call_with(model: nn.Module, example: Example) -> Any:
    if isinstance(example, Mapping):
        return model(**example)
    return model(*example) if isinstance(example, tuple | list) else model(example)


@contextmanager
def quietly(model: nn.Module, training: bool, seed: int = 0) -> Iterator[None]:
    """Without gradients, with its own random numbers. The model is a copy: its moving moments may move."""
    model.train(training)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def fresh(example: Example) -> Example:
    """A copy of the example for one run: a model may begin with an in-place function."""
    return torch.utils._pytree.tree_map(lambda each: each.clone() if isinstance(each, Tensor) else each, example)


def example_for(model: nn.Module) -> Example:
    """An example that the model takes, found by trying: noise of the shape that its first layer with weights asks for.

    Raises ValueError if none is taken.
    """
    first = next((each for each in model.modules() if isinstance(each, _FIRST)), None)
    if first is None:
        raise ValueError("the model has no convolution and no linear layer to tell its input by. Give `example=`.")
    draw, error = torch.Generator().manual_seed(0), None
    for shape in _shapes(first):
        x = torch.randn(shape, generator=draw).to(first.weight.device, first.weight.dtype)
        try:
            with quietly(model, training=False):
                call_with(model, x)
        except Exception as problem:
            error = problem
        else:
            return x
    raise ValueError(
        f"no input that was tried runs through the model (the last attempt: {type(error).__name__}: {error})."
        " Give `example=`: a tensor, a tuple of arguments or a dict of arguments by name."
    )


_FIRST = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)


def _shapes(first: nn.Conv1d | nn.Conv2d | nn.Conv3d | nn.Linear) -> Iterator[tuple[int, ...]]:
    if isinstance(first, nn.Linear):
        yield 2, first.in_features
        yield 2, 16, first.in_features
        return
    axes = len(first.kernel_size)
    for size in SIZES if axes < 3 else (16, 32, 64):
        yield 2, first.in_channels, *(size,) * axes
