"""One layer in one task, from a recipe to its measures (`evonorm train`). Goes on wherever it was stopped."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import evonorm.tasks  # noqa: F401 (its tasks are in the register from now on)
from evonorm.fitness import number_of_threads
from evonorm.graph import graph_of
from evonorm.journal import KeptResults
from evonorm.layers import layer_names
from evonorm.runner.task_recipe import TaskRecipe
from evonorm.training import (
    TASKS,
    Checkpoint,
    TrainingRun,
    keep_freed_memory,
    rank,
    save_weights,
    word_of_the_first,
)

MOST_LOSSES = 1000  # points of a kept loss curve


@dataclass(frozen=True)
class Trained:
    """What came of it.

    Attributes:
        ending: "reached", "non_finite_loss" or "out_of_time".
        steps, seconds: done and spent; `waited` of the seconds for batches.
        measured: the curve of every measure as (step, value), the first of which decides. A run that ended early has
            been measured where it ended.
        losses: the curve of the training loss, each point the mean over `loss_every` steps.
        falling: names of the measures of which less is better.
    """

    ending: str
    steps: int
    seconds: float
    measured: dict[str, list[tuple[int, float]]]
    losses: tuple[float, ...]
    loss_every: int = 1
    waited: float = 0.0
    falling: tuple[str, ...] = ()

    @property
    def result(self) -> float:
        """The last value of the measure that decides."""
        return next(iter(self.measured.values()))[-1][1]


def train(
    recipe: TaskRecipe,
    layer: str,
    kept: KeptResults,
    on_step: Callable[[TrainingRun], None] = lambda _: None,
    device: torch.device | None = None,
) -> Trained:
    """Trains, or finds what was trained before. A stopped training goes on from its last checkpoint.

    Where several ranks train together, all of them call this, and the first one keeps what came of it. The weights
    that it ended with, averaged where the recipe averages, are in `kept.weights(question)`.
    """
    check_layer(layer)
    recipe = recipe.in_steps()
    question = recipe.question(layer)
    answer = word_of_the_first(lambda: kept.find(question))
    if answer is None:
        place, weights = kept.partial(question) / "run.pt", kept.weights(question)
        answer = vars(train_from(place, recipe, layer, on_step, device, weights))
        if rank() == 0:
            kept.keep(question, answer)
    return trained_from(answer)


def check_layer(layer: str) -> None:
    """Raises where a name is unknown or a formula cannot be read."""
    if layer not in layer_names():
        graph_of(layer)


def trained_from(answer: dict[str, Any]) -> Trained:
    """What was kept, as a value again."""
    measured = {name: [(step, value) for step, value in curve] for name, curve in answer["measured"].items()}
    several = {name: tuple(answer.get(name, ())) for name in ("losses", "falling")}
    return Trained(**{**answer, **several, "measured": measured})


def train_from(
    checkpoint: Path,
    recipe: TaskRecipe,
    layer: str,
    on_step: Callable[[TrainingRun], None],
    device: torch.device | None = None,
    weights: Path | None = None,
) -> Trained:
    """Trains by a recipe in steps, from the checkpoint on if there is one; the last weights stay if a file is named."""
    keep_freed_memory()
    stored = Checkpoint(checkpoint)

    def after_step(run: TrainingRun) -> None:
        stored.after_step(run)
        on_step(run)

    with number_of_threads(recipe.threads):
        task = TASKS.find(recipe.task).create(layer, recipe.settings, recipe.training, recipe.seed)
        run = TrainingRun(task, recipe.training, recipe.seed, device)
        stored.take_up(run)
        ending = run.advance(recipe.training.steps, measure=True, on_step=after_step)
        if not run.curve or run.curve[-1][0] != run.step:
            run.measure()
        if weights is not None and rank() == 0:
            save_weights(run, weights)
    every = math.ceil(len(run.losses) / MOST_LOSSES)
    return Trained(
        ending,
        run.step,
        round(run.seconds, 3),
        run.measured,
        _thinned(run.losses, every),
        every,
        round(run.waited, 3),
        tuple(run.falling),
    )


def _thinned(losses: list[float], every: int) -> tuple[float, ...]:
    means = (math.fsum(part) / len(part) for part in (losses[i : i + every] for i in range(0, len(losses), every)))
    return tuple(float(f"{mean:.6g}") for mean in means)
