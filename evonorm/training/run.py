"""The training loop: a model on its way through a recipe, which can pause at any step and go on.

A run owns torch's random generator while it advances (dropout and its kind draw from it) and puts the caller's back,
so that the same seed and number of threads give the same result whatever runs beside it.
"""

import math
import time
from collections.abc import Callable, Set
from typing import Literal, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evonorm.training.recipe import TrainingRecipe

Ending = Literal["reached", "non_finite_loss", "out_of_time"]


class Batches(Protocol):
    """Training batches by step: the same tensors for the same step, whenever it is asked for."""

    def batch(self, step: int) -> tuple[Tensor, Tensor]: ...


class TrainingRun:
    """Trains `model` by `recipe`; `advance` does the work.

    Arguments:
        model: is converted to channels_last and trained in place.
        batches: pictures and labels of each step.
        undecayed: names of the parameters without weight decay.
        seed: of what is random inside the model.

    Attributes:
        step: updates done so far.
        losses: the training loss of each step.
        curve: (step, accuracy) of each validation.
        seconds: spent in training steps, without validations and callbacks.
    """

    def __init__(
        self, model: nn.Module, batches: Batches, recipe: TrainingRecipe, undecayed: Set[str], seed: int
    ) -> None:
        self.model = model.to(memory_format=torch.channels_last)
        self.batches = batches
        self.recipe = recipe
        self.optimizer = nesterov_sgd(model, recipe, undecayed)
        self.step = 0
        self.losses: list[float] = []
        self.curve: list[tuple[int, float]] = []
        self.seconds = 0.0
        self.random_state = torch.Generator().manual_seed(seed).get_state()

    def advance(
        self,
        until: int,
        validate: Callable[[nn.Module], float] | None = None,
        on_step: Callable[["TrainingRun"], None] | None = None,
    ) -> Ending:
        """Trains up to the step `until`; validates where the recipe says so.

        Stops at once on a loss that is not finite, before it reaches the weights, and when the recipe's time is up.
        """
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self.random_state)
            return self._advance(until, validate, on_step)

    def _advance(
        self,
        until: int,
        validate: Callable[[nn.Module], float] | None,
        on_step: Callable[["TrainingRun"], None] | None,
    ) -> Ending:
        self.model.train()
        while self.step < until:
            if self.recipe.seconds is not None and self.seconds >= self.recipe.seconds:
                return "out_of_time"
            start = time.perf_counter()
            finite = self._update()
            self.random_state = torch.get_rng_state()  # here and not at the end: callbacks store the run
            self.seconds += time.perf_counter() - start
            if not finite:
                return "non_finite_loss"
            if validate is not None and self.recipe.validates_at(self.step):
                self.curve.append((self.step, validate(self.model)))
                self.model.train()
            if on_step is not None:
                on_step(self)
        return "reached"

    def _update(self) -> bool:
        """One step of SGD; False, with the weights as they were, where the loss is not finite."""
        pictures, labels = self.batches.batch(self.step)
        loss = F.cross_entropy(self.model(pictures), labels)
        self.losses.append(loss.item())
        if not math.isfinite(self.losses[-1]):
            return False
        self.optimizer.zero_grad()
        loss.backward()
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.learning_rate_at(self.step)
        self.optimizer.step()
        self.step += 1
        return True


def nesterov_sgd(model: nn.Module, recipe: TrainingRecipe, undecayed: Set[str]) -> torch.optim.SGD:
    decayed = [parameter for name, parameter in model.named_parameters() if name not in undecayed]
    others = [parameter for name, parameter in model.named_parameters() if name in undecayed]
    return torch.optim.SGD(
        [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0.0}],
        lr=recipe.learning_rate,
        momentum=recipe.momentum,
        nesterov=True,
        fused=True,
    )
