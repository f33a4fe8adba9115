"""Does a cheap stage order layers as the expensive training does? The trainings of `evonorm calibrate`.

Every layer is trained on the anchors of a recipe with a look at each of its stages' steps, and on the target's anchors.
No test turns anything down: a layer that a gate would have stopped must have its figure too. Every finished training is
kept, and a long one leaves checkpoints, so that a stopped calibration goes on where it was. `calibration_tables.py`
says what came out.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from evonorm.fitness import FitnessRecipe, screen
from evonorm.graph import CATALOG, Graph, sample_graph
from evonorm.journal import KeptResults, Question, Test, label
from evonorm.models import ANCHORS, model_cost
from evonorm.runner.calibration_trial import (
    Curve,
    Side,
    Trial,
    curve_from_json,
    curve_to_json,
    recipe_of,
    train_curve,
    trial_task,
)
from evonorm.runner.settings import changed_settings
from evonorm.runner.work_list import work_through, workers_for_list
from evonorm.workers import Broken, WorkerRecipe, as_worker_recipe

LAYERS = ("bn-relu", "bn-silu", "gn-silu", "rs-rej", "evonorm-b0", "evonorm-b1", "evonorm-s0", "evonorm-s1")
TARGET_STEPS = 400


@dataclass(frozen=True)
class Level:
    """A stage of a recipe at which candidates are compared: the average over `anchors` after `steps`."""

    name: str
    anchors: tuple[str, ...]
    steps: int
    gate: float = 0.0


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


def trial_question(trial: Trial, recipe: FitnessRecipe) -> Question:
    """What a trial's curve is found by; on which side it is asked for does not matter."""
    parts = {"layer": trial.layer, "seed": trial.seed, "looks": list(trial.looks)}
    return {"what": "training", **parts, "recipe": changed_settings(recipe_of(trial, recipe))}


def known_curve(kept: KeptResults, trial: Trial, recipe: FitnessRecipe) -> Curve | None:
    answer = kept.find(trial_question(trial, recipe))
    return curve_from_json(trial, answer) if answer else None


def kept_curves(kept: KeptResults) -> list[Curve]:
    """Every training that is kept, under whatever recipe."""
    found = [(each["question"], each["answer"]) for each in kept.records() if each["question"]["what"] == "training"]
    return [curve_from_json(_trial(question, answer["side"]), answer) for question, answer in found]


def _trial(question: Question, side: Side) -> Trial:
    (anchor,) = question["recipe"]["anchors"]
    return Trial(side, question["layer"], anchor, question["seed"], tuple(question["looks"]))


def measure(
    trials: Sequence[tuple[Trial, FitnessRecipe]],
    kept: KeptResults,
    train: Train | None = None,
    on_step: Callable[[Trial, int], None] = lambda *_: None,
    workers: int | WorkerRecipe = 0,
) -> Iterator[tuple[Curve, float]]:
    """Every trial's curve, those that are kept first, each with the seconds of training that the rest will take."""
    recipes = dict(trials)
    kept.expect([trial_question(*each) for each in trials], "trainings")
    known = {trial: curve for trial, recipe in trials if (curve := known_curve(kept, trial, recipe))}
    jobs = {
        trial: kept.partial(trial_question(trial, recipe)) / "training.pt"
        for trial, recipe in trials
        if trial not in known
    }
    who = as_worker_recipe(workers)
    for trial in list(known):
        yield known[trial], seconds_left(list(known.values()), list(jobs))
    if who.kind == "inline":
        new = _in_this_process(jobs, recipes, train or train_curve, on_step)
    else:
        new = _in_workers(jobs, recipes, who, on_step)
    for curve, worth_keeping in new:
        known[curve.trial] = curve
        if worth_keeping:
            kept.keep(trial_question(curve.trial, recipes[curve.trial]), curve_to_json(curve))
        yield curve, seconds_left(list(known.values()), [each for each in jobs if each not in known])


Jobs = Mapping[Trial, Path]  # what to train, and the checkpoint that it goes on from
Recipes = Mapping[Trial, FitnessRecipe]


def _in_this_process(
    jobs: Jobs, recipes: Recipes, train: Train, on_step: Callable[[Trial, int], None]
) -> Iterator[tuple[Curve, bool]]:
    for trial, checkpoint in jobs.items():
        yield train(trial, recipe_of(trial, recipes[trial]), checkpoint, partial(on_step, trial)), True


def _in_workers(
    jobs: Jobs, recipes: Recipes, workers: WorkerRecipe, on_step: Callable[[Trial, int], None]
) -> Iterator[tuple[Curve, bool]]:
    """As they come in. A worker that broke leaves a curve with an error, which is not worth keeping."""
    if not jobs:
        return
    every = list(jobs)
    tasks = [trial_task(index, each, recipes[each], jobs[each]) for index, each in enumerate(every)]
    recipe = recipes[every[0]]
    with workers_for_list(workers, len(tasks), recipe.threads, recipe.data) as found:
        for report in work_through(tasks, found, lambda task, stage: on_step(every[task], stage["step"])):
            trial = every[report.task]
            if isinstance(report, Broken):
                yield Curve(trial, (), 0, 0.0, f"{report.reason}: {report.error}"), False
            else:
                yield curve_from_json(trial, report.result), True


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
