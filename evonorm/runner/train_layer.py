"""One layer in one task, from a recipe to its measures (`evonorm train`). Goes on wherever it was stopped."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import evonorm.tasks  # noqa: F401 (its tasks are in the register from now on)
from evonorm.fitness import number_of_threads
from evonorm.foundation import write_atomically
from evonorm.graph import graph_of
from evonorm.journal import KeptResults
from evonorm.layers import layer_names
from evonorm.runner.task_recipe import TaskRecipe
from evonorm.training import (
    TASKS,
    Checkpoint,
    Illustrated,
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
        ending: "reached", "non_finite_loss" or "out_of_time"; in a note of work that goes on "under_way".
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
        answer = vars(train_from(kept, recipe, layer, on_step, device, keep_weights=True))
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
    kept: KeptResults,
    recipe: TaskRecipe,
    layer: str,
    on_step: Callable[[TrainingRun], None],
    device: torch.device | None = None,
    keep_weights: bool = False,
) -> Trained:
    """Trains by a recipe in steps, from the checkpoint on if there is one, and leaves all but the answer with `kept`.

    That is a checkpoint and a note of how far it is, pictures of every measurement where the task has some, and the
    last weights if they are asked for.
    """
    keep_freed_memory()
    question = recipe.question(layer)
    stored = Checkpoint(kept.partial(question) / "run.pt")

    def after_step(run: TrainingRun) -> None:
        if stored.after_step(run):
            kept.note_progress(question, vars(_so_far(run, "under_way")))
            write_pictures(run, kept.pictures(question))
        on_step(run)

    with number_of_threads(recipe.threads):
        task = TASKS.find(recipe.task).create(layer, recipe.settings, recipe.training, recipe.seed)
        run = TrainingRun(task, recipe.training, recipe.seed, device)
        stored.take_up(run)
        ending = run.advance(recipe.training.steps, measure=True, on_step=after_step)
        if not run.just_measured:
            run.measure()
        if rank() == 0:
            write_pictures(run, kept.pictures(question))
        if keep_weights and rank() == 0:
            save_weights(run, kept.weights(question))
    return _so_far(run, ending)


def write_pictures(run: TrainingRun, folder: Path) -> None:
    """What a task shows of its latest measurement, by step and name."""
    if run.just_measured and isinstance(run.task, Illustrated):
        for name, png in run.task.illustrations().items():
            write_atomically(folder / f"step{run.step:07}-{name}.png", png)


def _so_far(run: TrainingRun, ending: str) -> Trained:
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
