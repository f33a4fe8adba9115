"""One training of a calibration: a layer on an anchor, looked at after some numbers of steps."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from evonorm.fitness import (
    FitnessRecipe,
    ProxyTask,
    QualityRecipe,
    StabilityRecipe,
    accuracy_now,
    number_of_threads,
    running_loss,
)
from evonorm.journal import Test
from evonorm.runner.settings import read_settings, settings_to_table
from evonorm.training import Checkpoint, TrainingRun, keep_freed_memory
from evonorm.workers import Announced, Task

TRIAL_TASK = "evonorm.runner.calibration_trial:train_in_worker"
TOLD_EVERY = 1.0  # seconds

Side = Literal["cheap", "target"]


@dataclass(frozen=True)
class Trial:
    """One layer on one anchor under one seed, looked at after each of these numbers of steps."""

    side: Side
    layer: str  # a name or a formula
    anchor: str
    seed: int
    looks: tuple[int, ...]


@dataclass(frozen=True)
class Look:
    """The figures after so many steps; None where the loss was not finite before that."""

    step: int
    accuracy: float | None
    running_loss: float | None


@dataclass(frozen=True)
class Curve:
    """What came of a trial. `error` is what broke the evaluation itself; such a layer has no figure here."""

    trial: Trial
    looks: tuple[Look, ...]
    steps: int
    seconds: float
    error: str | None = None
    losses: tuple[float, ...] = ()  # of every step, kept for whoever wants to try another rule on real curves

    def __str__(self) -> str:
        """`20: 15.0 %, 60: blew up`, or the error."""
        values = [
            (each.step, "blew up" if each.accuracy is None else f"{100 * each.accuracy:.1f} %") for each in self.looks
        ]
        return self.error or ", ".join(f"{step}: {value}" for step, value in values)


def recipe_of(trial: Trial, recipe: FitnessRecipe) -> FitnessRecipe:
    """The part of the recipe that decides the trial's figures: one that differs elsewhere can use the same files."""
    training = replace(recipe.training, validate_every=0)
    if training.schedule == "constant":
        training = replace(training, steps=max(trial.looks))
    return replace(
        recipe,
        anchors=(trial.anchor,),
        quality=QualityRecipe(steps=1),
        stability=StabilityRecipe(),
        training=training,
        ladder=(),
    )


def curve_from_json(trial: Trial, answer: dict[str, Any]) -> Curve:
    """The inverse of `curve_to_json`."""
    looks = tuple(Look(**each) for each in answer["looks"])
    return Curve(trial, looks, answer["steps"], answer["seconds"], answer["error"], tuple(answer["losses"]))


def curve_to_json(curve: Curve) -> dict[str, Any]:
    figures = asdict(curve)
    return {"side": figures.pop("trial")["side"], **figures}


def trial_task(number: int, trial: Trial, recipe: FitnessRecipe, checkpoint: Path) -> Task:
    own = settings_to_table(recipe_of(trial, recipe))
    arguments = {"trial": asdict(trial), "recipe": own, "checkpoint": str(checkpoint.absolute())}
    return Task(number, TRIAL_TASK, arguments)


def train_in_worker(arguments: dict[str, Any], announce: Callable[[Announced], None]) -> dict[str, Any]:
    """What a worker runs for a trial."""
    trial = Trial(**{**arguments["trial"], "looks": tuple(arguments["trial"]["looks"])})
    recipe = read_settings(FitnessRecipe, arguments["recipe"], "the trial's recipe")
    told = 0.0

    def tell(step: int) -> None:
        nonlocal told
        if time.monotonic() >= told + TOLD_EVERY:
            told = time.monotonic()
            announce({"name": Test.TRAINING, "anchor": trial.anchor, "step": step})

    return curve_to_json(train_curve(trial, recipe, Path(arguments["checkpoint"]), tell))


def train_curve(trial: Trial, recipe: FitnessRecipe, checkpoint: Path | None, on_step: Callable[[int], None]) -> Curve:
    """Trains from the checkpoint, if there is one, to the last look."""
    keep_freed_memory()
    try:
        with number_of_threads(recipe.threads):
            return _train(trial, ProxyTask(trial.layer, trial.anchor, recipe, trial.seed), checkpoint, on_step)
    except (RuntimeError, MemoryError, ArithmeticError) as error:  # one broken layer must not cost the others' hours
        return Curve(trial, (), 0, 0.0, f"{type(error).__name__}: {error}")


def _train(trial: Trial, task: ProxyTask, checkpoint: Path | None, on_step: Callable[[int], None]) -> Curve:
    run = task.run
    stored = Checkpoint(checkpoint)
    stored.take_up(run)

    def after_step(_: TrainingRun) -> None:
        on_step(run.step)
        stored.after_step(run)

    looking = 0.0
    for step in trial.looks:
        if step in dict(run.curve):
            continue
        if run.advance(step, on_step=after_step) == "non_finite_loss":
            break
        start = time.perf_counter()
        run.curve.append((step, accuracy_now(task, step)))
        looking += time.perf_counter() - start
    accuracies = dict(run.curve)
    looks = tuple(
        Look(step, accuracies[step], running_loss(run.losses[:step])) if step in accuracies else Look(step, None, None)
        for step in trial.looks
    )
    losses = tuple(round(loss, 4) for loss in run.losses[: run.step])
    return Curve(trial, looks, run.step, run.seconds + looking, losses=losses)
