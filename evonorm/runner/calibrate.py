"""Does a cheap stage order layers as the expensive training does? The trainings of `evonorm calibrate`.

Every layer is trained on the anchors of a recipe with a look at each of its stages' steps, and on the target's anchors.
No test turns anything down: a layer that a gate would have stopped must have its figure too. Every finished training is
kept, and a long one leaves checkpoints, so that a stopped calibration goes on where it was. `calibration_tables.py`
says what came out.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from evonorm.fitness import (
    FitnessRecipe,
    ProxyTask,
    QualityRecipe,
    StabilityRecipe,
    accuracy_now,
    number_of_threads,
    running_loss,
    screen,
)
from evonorm.graph import CATALOG, Graph, sample_graph
from evonorm.journal import KeptResults, Question, Test, label
from evonorm.models import ANCHORS, model_cost
from evonorm.runner.settings import changed_settings
from evonorm.training import Checkpoint, TrainingRun, keep_freed_memory

LAYERS = ("bn-relu", "bn-silu", "gn-silu", "rs-rej", "evonorm-b0", "evonorm-b1", "evonorm-s0", "evonorm-s1")
TARGET_STEPS = 400

Side = Literal["cheap", "target"]


@dataclass(frozen=True)
class Level:
    """A stage of a recipe at which candidates are compared: the average over `anchors` after `steps`."""

    name: str
    anchors: tuple[str, ...]
    steps: int
    gate: float = 0.0


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


Train = Callable[[Trial, FitnessRecipe, Path | None, Callable[[int], None]], Curve]


def levels_of(recipe: FitnessRecipe) -> tuple[Level, ...]:
    """The stages of a recipe that compare candidates by accuracy: rungs, quality test, final training."""
    rungs = [
        Level(label(Test.RUNG, number), rung.anchors, rung.steps, rung.gate)
        for number, rung in enumerate(recipe.ladder, start=1)
    ]
    quality = Level(Test.QUALITY, recipe.anchors, recipe.quality.steps, recipe.quality.accuracy)
    return (*rungs, quality, Level(Test.TRAINING, recipe.anchors, recipe.training.steps))


def cheap_trials(layers: Sequence[str], recipe: FitnessRecipe, seeds: Sequence[int]) -> list[Trial]:
    """Every anchor of every stage, each looked at at every stage's steps: what another choice would say comes free."""
    levels = levels_of(recipe)
    anchors = tuple(dict.fromkeys(anchor for level in levels for anchor in level.anchors))
    return _trials("cheap", layers, anchors, tuple(sorted({level.steps for level in levels})), seeds)


def target_trials(layers: Sequence[str], recipe: FitnessRecipe, steps: int, seeds: Sequence[int]) -> list[Trial]:
    if not 1 <= steps <= recipe.training.steps:
        raise ValueError(f"the target's steps must lie in 1 to its recipe's {recipe.training.steps}, got {steps}.")
    return _trials("target", layers, recipe.anchors, (steps,), seeds)


def _trials(
    side: Side, layers: Sequence[str], anchors: Sequence[str], looks: tuple[int, ...], seeds: Sequence[int]
) -> list[Trial]:
    """Anchor by anchor, so that a stopped calibration has whole columns."""
    return [Trial(side, layer, anchor, seed, looks) for seed in seeds for anchor in anchors for layer in layers]


def random_survivors(
    count: int,
    seed: int,
    passes: Callable[[str], bool] = lambda _: True,
    propose: Callable[[np.random.Generator], Graph] = sample_graph,
) -> list[str]:
    """Formulas that pass the free checks and then `passes`: all different, none of them a layer with a name."""
    rng = np.random.default_rng(seed)
    seen = {screen(Graph.parse(entry.formula)).fingerprint for entry in CATALOG.values() if entry.formula}
    found: list[str] = []
    while len(found) < count:
        graph = propose(rng)
        function = screen(graph).fingerprint
        if function is not None and function not in seen:
            seen.add(function)
            if passes(str(graph)):
                found.append(str(graph))
    return found


def passes_first_gate(layer: str, recipe: FitnessRecipe, kept: KeptResults, train: Train | None = None) -> bool:
    """Whether a layer reaches the gate of the recipe's first stage, with its first seed.

    Most random layers that pass the free checks do not learn at all. That a stage puts those last says little: a search
    asks it to order the others.
    """
    first = levels_of(recipe)[0]
    for trial in _trials("cheap", [layer], first.anchors, (first.steps,), [0]):
        ((curve, _),) = measure([(trial, recipe)], kept, train)
        if not curve.looks or (curve.looks[-1].accuracy or 0.0) < first.gate:
            return False
    return True


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


def trial_question(trial: Trial, recipe: FitnessRecipe) -> Question:
    """What a trial's curve is found by; on which side it is asked for does not matter."""
    parts = {"layer": trial.layer, "seed": trial.seed, "looks": list(trial.looks)}
    return {"what": "training", **parts, "recipe": changed_settings(recipe_of(trial, recipe))}


def known_curve(kept: KeptResults, trial: Trial, recipe: FitnessRecipe) -> Curve | None:
    answer = kept.find(trial_question(trial, recipe))
    return _curve(trial, answer) if answer else None


def kept_curves(kept: KeptResults) -> list[Curve]:
    """Every training that is kept, under whatever recipe."""
    found = [(each["question"], each["answer"]) for each in kept.records() if each["question"]["what"] == "training"]
    return [_curve(_trial(question, answer["side"]), answer) for question, answer in found]


def _trial(question: Question, side: Side) -> Trial:
    (anchor,) = question["recipe"]["anchors"]
    return Trial(side, question["layer"], anchor, question["seed"], tuple(question["looks"]))


def _curve(trial: Trial, answer: dict[str, Any]) -> Curve:
    looks = tuple(Look(**each) for each in answer["looks"])
    return Curve(trial, looks, answer["steps"], answer["seconds"], answer["error"], tuple(answer["losses"]))


def _answer(curve: Curve) -> dict[str, Any]:
    figures = asdict(curve)
    return {"side": figures.pop("trial")["side"], **figures}


def measure(
    trials: Sequence[tuple[Trial, FitnessRecipe]],
    kept: KeptResults,
    train: Train | None = None,
    on_step: Callable[[Trial, int], None] | None = None,
) -> Iterator[tuple[Curve, float]]:
    """Every trial's curve, kept or new, each with the seconds that the rest will take."""
    kept.expect([trial_question(*each) for each in trials], "trainings")
    known = {trial: known_curve(kept, trial, recipe) for trial, recipe in trials}
    for trial, recipe in trials:
        curve = known[trial]
        if curve is None:
            question = trial_question(trial, recipe)
            checkpoint = kept.partial(question) / "training.pt"
            tell = partial(on_step, trial) if on_step else lambda _: None
            curve = known[trial] = (train or train_curve)(trial, recipe_of(trial, recipe), checkpoint, tell)
            kept.keep(question, _answer(curve))
        done = [each for each in known.values() if each is not None]
        yield curve, seconds_left(done, [each for each, found in known.items() if found is None])


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


def seconds_left(done: Sequence[Curve], left: Sequence[Trial]) -> float:
    """By what a step on the same anchor took; on one that nobody was trained on yet, by its multiply-adds."""
    spent = {anchor: _seconds_per_step(done, anchor) for anchor in {curve.trial.anchor for curve in done}}
    rates = {anchor: rate for anchor, rate in spent.items() if rate > 0}
    if not rates:
        return math.nan
    per_work = math.fsum(rates.values()) / sum(_work(anchor) for anchor in rates)
    return math.fsum(max(t.looks) * rates.get(t.anchor, per_work * _work(t.anchor)) for t in left)


def _seconds_per_step(curves: Sequence[Curve], anchor: str) -> float:
    here = [curve for curve in curves if curve.trial.anchor == anchor]
    return math.fsum(curve.seconds for curve in here) / max(1, sum(curve.steps for curve in here))


@cache
def _work(anchor: str) -> float:
    """Multiply-adds of a batch."""
    return float(model_cost(anchor).multiply_adds * ANCHORS[anchor].batch_size)
