"""The moving average of a run's weights and moments, as TensorFlow's ExponentialMovingAverage keeps it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from evonorm.training.recipe import AverageRecipe


class AveragedWeights:
    """Of all parameters and floating-point buffers of some nets; `in_their_place` puts it where the weights are."""

    def __init__(self, nets: Sequence[nn.Module], recipe: AverageRecipe) -> None:
        self.recipe = recipe
        tensors = [each for net in nets for each in (*net.parameters(), *net.buffers())]
        self.weights = [each.detach() for each in dict.fromkeys(tensors) if each.is_floating_point()]
        self.average = [each.clone() for each in self.weights]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Takes in the weights after so many steps."""
        torch._foreach_lerp_(self.average, self.weights, 1 - self.recipe.decay_after(step))

    @contextmanager
    def in_their_place(self) -> Iterator[None]:
        """Inside, the nets have the average for their weights; afterwards they have their own again."""
        own = [each.clone() for each in self.weights]
        self._put(self.average)
        try:
            yield
        finally:
            self._put(own)

    def state(self) -> list[Tensor]:
        return self.average

    @torch.no_grad()
    def load(self, state: Sequence[Tensor]) -> None:
        for mine, stored in zip(self.average, state, strict=True):
            mine.copy_(stored)

    @torch.no_grad()
    def _put(self, values: Sequence[Tensor]) -> None:
        for weight, value in zip(self.weights, values, strict=True):
            weight.copy_(value)
