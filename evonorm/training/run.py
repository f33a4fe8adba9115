"""The training loop: a task on its way through a recipe, which can pause at any step and go on.

A run owns torch's random generator while it advances (dropout and its kind draw from it), seeds it anew for every step
and logical worker, and puts the caller's back: the same seed and number of threads give the same result whatever runs
beside it, wherever it was stopped and on however many ranks.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import torch
from torch import nn

from evonorm.foundation import seed_from
from evonorm.training.average import AveragedWeights
from evonorm.training.devices import autocast, moved, own_randomness, seed_everything
from evonorm.training.moments import WorkerMoments
from evonorm.training.optimizers import create_optimizer
from evonorm.training.ranks import my_workers, sum_gradients, sum_over_ranks, word_of_the_first
from evonorm.training.recipe import TrainingRecipe
from evonorm.training.task import Batch, Measure, Task, Turn

Ending = Literal["reached", "non_finite_loss", "out_of_time"]
AVERAGED = " (averaged weights)"


class TrainingRun:
    """Trains a task by a recipe; `advance` does the work.

    Arguments:
        task: its model is converted to channels_last, moved to the device and trained in place.
        seed: of what is random inside the model.
        device: where the model is trained.

    Attributes:
        step: updates done so far.
        losses: of each step, the sum over the turns and the mean over the workers.
        parts: the named losses of the latest step.
        curve: (step, value) of the measure that decides; `measured` has all of them by name, and `falling` the names of
            those of which less is better. Where weights are averaged, the average decides, and its measures say so in
            their names.
        seconds: spent in training steps, without measurements and callbacks; `waited` of them for batches.
    """

    def __init__(self, task: Task, recipe: TrainingRecipe, seed: int, device: torch.device | None = None) -> None:
        self.task, self.recipe, self.seed, self.device = task, recipe, seed, device or torch.device("cpu")
        task.model.to(self.device).to(memory_format=torch.channels_last)
        self.workers = my_workers(recipe.workers)
        self.optimizers = {turn.name: create_optimizer(turn.net, turn.undecayed, recipe) for turn in task.turns}
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=recipe.precision == "float16")
        averaged = [turn.net for turn in task.turns if turn.averaged]
        self.average = AveragedWeights(averaged, recipe.average) if recipe.average.decay else None
        self.step = 0
        self.losses: list[float] = []
        self.parts: dict[str, float] = {}
        self.curve: list[tuple[int, float]] = []
        self.measured: dict[str, list[tuple[int, float]]] = {}
        self.falling: list[str] = []
        self.seconds = self.waited = 0.0

    def advance(
        self, until: int, measure: bool = False, on_step: Callable[["TrainingRun"], None] | None = None
    ) -> Ending:
        """Trains up to the step `until`; with `measure`, measures where the recipe says so.

        Stops at once on a loss that is not finite, before it reaches the weights, and when the recipe's time is up.
        """
        with own_randomness(self.device):
            self.task.model.train()
            while self.step < until:
                if self._out_of_time():
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

    @property
    def just_measured(self) -> bool:
        """Whether the curve has a point at this step."""
        return bool(self.curve) and self.curve[-1][0] == self.step

    def measure(self) -> float:
        """Measures now, for the curve; returns the value that decides."""
        measures = self._measures()
        for each in measures:
            self.measured.setdefault(each.name, []).append((self.step, each.value))
        self.falling = [each.name for each in measures if not each.more_is_better]
        self.curve.append((self.step, measures[0].value))
        self.task.model.train()
        return measures[0].value

    def _measures(self) -> list[Measure]:
        with autocast(self.device, self.recipe.precision):
            if self.average is None:
                return list(self.task.measure(self.step))
            with self.average.in_their_place():
                found = [replace(each, name=each.name + AVERAGED) for each in self.task.measure(self.step)]
            return [*found, *(self.task.measure(self.step) if self.recipe.average.plain else ())]

    def _out_of_time(self) -> bool:
        budget = self.recipe.seconds
        return budget is not None and word_of_the_first(lambda: self.seconds >= budget)

    def _step(self) -> bool:
        """Every turn once; False, with weights and moments as before that turn, where a loss is not finite."""
        self.losses.append(0.0)
        self.parts = {}
        for number, turn in enumerate(self.task.turns):
            if not self._take_turn(number, turn):
                return False
        self.step += 1
        if self.average is not None:
            self.average.update(self.step)
        return True

    def _take_turn(self, number: int, turn: Turn) -> bool:
        """The gradients of all logical workers, those of this rank in turn, averaged; then one update."""
        optimizer = self.optimizers[turn.name]
        optimizer.zero_grad()
        moments = WorkerMoments(turn.net, self.recipe.workers, self.recipe.worker_moments)
        loss = 0.0
        for worker in self.workers:
            batch = self._batch(worker, number)
            seed_everything(self.device, seed_from(self.seed, self.step, worker, number))
            loss += self._add_gradients(turn, batch)
            if not math.isfinite(loss):
                break
            moments.after_worker(worker)
        loss = sum_over_ranks(torch.tensor(loss, dtype=torch.float64, device=self.device)).item()
        self.losses[-1] += loss
        if not math.isfinite(loss):
            moments.undo()
            return False
        moments.after_all()
        sum_gradients(turn.net)
        self._update(turn, optimizer)
        return True

    def _batch(self, worker: int, turn: int) -> Batch:
        start = time.perf_counter()
        batch = moved(self.task.batch(self.step, worker, turn), self.device)
        self.waited += time.perf_counter() - start
        return batch

    def _add_gradients(self, turn: Turn, batch: Batch) -> float:
        """This worker's share of the turn's loss, and of its gradients unless the loss is not finite."""
        workers = self.recipe.workers
        with autocast(self.device, self.recipe.precision):
            losses = turn.losses(batch)
        total = sum(list(losses.values())[1:], start=next(iter(losses.values())))
        share = total.item() / workers
        if not math.isfinite(share):
            return share
        for name, loss in losses.items():
            self.parts[name] = self.parts.get(name, 0.0) + float(loss.detach()) / workers
        self.scaler.scale(total / workers if workers > 1 else total).backward()
        return share

    def _update(self, turn: Turn, optimizer: torch.optim.Optimizer) -> None:
        for group in optimizer.param_groups:
            group["lr"] = turn.rate * self.recipe.learning_rate_at(self.step)
        if self.recipe.clip:
            self.scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(turn.net.parameters(), self.recipe.clip)
        self.scaler.step(optimizer)
        self.scaler.update()
