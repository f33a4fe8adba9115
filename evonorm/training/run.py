"""The training loop: a task on its way through a recipe, which can pause at any step and go on.

A run owns torch's random generator while it advances (dropout and its kind draw from it), seeds it anew for every step
and logical worker, and puts the caller's back: the same seed and number of threads give the same result whatever runs
beside it and wherever it was stopped.
"""

import math
import time
from collections.abc import Callable
from typing import Literal

import torch

from evonorm.foundation import seed_from
from evonorm.training.optimizers import create_optimizer
from evonorm.training.recipe import TrainingRecipe
from evonorm.training.task import Batch, Task, Turn

Ending = Literal["reached", "non_finite_loss", "out_of_time"]


class TrainingRun:
    """Trains a task by a recipe; `advance` does the work.

    Arguments:
        task: its model is converted to channels_last and trained in place.
        seed: of what is random inside the model.

    Attributes:
        step: updates done so far.
        losses: of each step, the sum over the turns and the mean over the workers.
        parts: the named losses of the latest step.
        curve: (step, value) of the measure that decides; `measured` has all of them by name.
        seconds: spent in training steps, without measurements and callbacks.
    """

    def __init__(self, task: Task, recipe: TrainingRecipe, seed: int) -> None:
        task.model.to(memory_format=torch.channels_last)
        self.task, self.recipe, self.seed = task, recipe, seed
        self.optimizers = {turn.name: create_optimizer(turn.net, turn.undecayed, recipe) for turn in task.turns}
        self.step = 0
        self.losses: list[float] = []
        self.parts: dict[str, float] = {}
        self.curve: list[tuple[int, float]] = []
        self.measured: dict[str, list[tuple[int, float]]] = {}
        self.seconds = 0.0

    def advance(
        self, until: int, measure: bool = False, on_step: Callable[["TrainingRun"], None] | None = None
    ) -> Ending:
        """Trains up to the step `until`; with `measure`, measures where the recipe says so.

        Stops at once on a loss that is not finite, before it reaches the weights, and when the recipe's time is up.
        """
        with torch.random.fork_rng(devices=[]):
            self.task.model.train()
            while self.step < until:
                if self.recipe.seconds is not None and self.seconds >= self.recipe.seconds:
                    return "out_of_time"
                start = time.perf_counter()
                finite = self._step()
                self.seconds += time.perf_counter() - start
                if not finite:
                    return "non_finite_loss"
                if measure and self.recipe.validates_at(self.step):
                    self.measure()
                if on_step is not None:
                    on_step(self)
            return "reached"

    def measure(self) -> float:
        """Measures now, for the curve; returns the value that decides."""
        measures = self.task.measure(self.step)
        for each in measures:
            self.measured.setdefault(each.name, []).append((self.step, each.value))
        self.curve.append((self.step, measures[0].value))
        self.task.model.train()
        return measures[0].value

    def _step(self) -> bool:
        """Every turn once; False, with the weights of that turn as they were, where a loss is not finite."""
        self.losses.append(0.0)
        self.parts = {}
        for number, turn in enumerate(self.task.turns):
            if not self._take_turn(number, turn):
                return False
        self.step += 1
        return True

    def _take_turn(self, number: int, turn: Turn) -> bool:
        """The gradients of all logical workers in turn, averaged, then one update."""
        optimizer = self.optimizers[turn.name]
        optimizer.zero_grad()
        kept: dict[str, torch.Tensor] = {}
        for worker in range(self.recipe.workers):
            batch = self.task.batch(self.step, worker, number)
            torch.default_generator.manual_seed(seed_from(self.seed, self.step, worker, number))
            if not self._add_gradients(turn, batch):
                return False
            if worker == 0 and self.recipe.workers > 1:
                kept = {name: buffer.clone() for name, buffer in turn.net.named_buffers()}
        self._restore(turn, kept)  # moving moments are the first worker's, as those of rank 0 are with DDP
        for group in optimizer.param_groups:
            group["lr"] = turn.rate * self.recipe.learning_rate_at(self.step)
        optimizer.step()
        return True

    def _add_gradients(self, turn: Turn, batch: Batch) -> bool:
        losses, workers = turn.losses(batch), self.recipe.workers
        total = sum(list(losses.values())[1:], start=next(iter(losses.values())))
        self.losses[-1] += total.item() / workers
        if not math.isfinite(self.losses[-1]):
            return False
        for name, loss in losses.items():
            self.parts[name] = self.parts.get(name, 0.0) + float(loss.detach()) / workers
        (total / workers if workers > 1 else total).backward()
        return True

    @torch.no_grad()
    def _restore(self, turn: Turn, kept: dict[str, torch.Tensor]) -> None:
        for name, buffer in turn.net.named_buffers():
            if name in kept:
                buffer.copy_(kept[name])
