"""A person's idea for a layer through the whole protocol, beside its rivals in the same run (`evonorm evaluate`)."""

import contextlib
import hashlib
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evonorm.fitness import FitnessRecipe, StageLog, evaluate
from evonorm.foundation import write_atomically
from evonorm.graph import CATALOG, Graph
from evonorm.journal import (
    Failed,
    Outcome,
    Progress,
    Rejected,
    Scores,
    Test,
    outcome_from_json,
    outcome_to_json,
    progress_from_json,
)
from evonorm.layers import create_layer
from evonorm.runner.evaluation_task import LAYER_TASK, outcome_of
from evonorm.runner.recipe_file import read_recipe_file
from evonorm.runner.settings import read_settings, settings_to_table
from evonorm.runner.surroundings import commit
from evonorm.workers import ProcessWorkers, Task, WorkerNote

Watch = Callable[[str, int, Progress | None], None]  # layer, seed, where it is; None when it is done


def watch_nothing(_: str, __: int, ___: Progress | None) -> None:
    """Watches nothing."""


@dataclass(frozen=True)
class Measurement:
    """What came of one layer under one seed."""

    layer: str
    seed: int
    outcome: Outcome


def read_fitness_recipe(path: Path, changes: Sequence[str] = ()) -> FitnessRecipe:
    """The [fitness] table of a recipe file after changes such as "fitness.data=digits"."""
    table = read_recipe_file(path, changes)
    return read_settings(FitnessRecipe, table.get("fitness", {}), f"{path} [fitness]")


def check_layers(layers: Sequence[str]) -> None:
    """Raises before any training where a name is unknown, a formula cannot be read or does not depend on x."""
    for layer in layers:
        create_layer(layer, channels=8)
        if layer not in CATALOG and not Graph.parse(layer).reads("x"):
            raise ValueError(f"the formula {layer!r} does not read x: its output would be the same for every input.")


def evaluate_layers(
    layers: Sequence[str],
    recipe: FitnessRecipe,
    seeds: Sequence[int],
    *,
    watch: Watch = watch_nothing,
    keep: Path | None = None,
    test_set: bool = False,
    workers: int = 0,
) -> list[Measurement]:
    """Every layer under every seed, in this process or several at a time in workers.

    With `keep`, a folder, outcomes stay there and an interrupted training goes on.
    """
    check_layers(layers)
    jobs = [
        Job(layer, recipe, seed, test_set, keep / _digest(layer, recipe, seed, test_set) if keep else None)
        for seed in seeds
        for layer in layers
    ]
    known = {job: _kept(job.place) for job in jobs}
    code = commit() if keep else None  # now: by the end somebody may have committed something else
    unknown = [job for job in jobs if known[job] is None]
    for job, outcome in _in_workers(unknown, workers, watch) if workers else _in_this_process(unknown, watch):
        known[job] = outcome
        watch(job.layer, job.seed, None)
        if not isinstance(outcome, Failed):
            _keep(job, outcome, code)
    return [Measurement(job.layer, job.seed, outcome) for job, outcome in known.items() if outcome is not None]


@dataclass(frozen=True)
class Job:
    """One layer under one seed, and where its outcome is kept."""

    layer: str
    recipe: FitnessRecipe
    seed: int
    test_set: bool
    place: Path | None


def _in_this_process(jobs: Sequence[Job], watch: Watch) -> Iterator[tuple[Job, Outcome]]:
    for job in jobs:
        progress = partial(watch, job.layer, job.seed)
        yield job, evaluate(job.layer, job.recipe, job.seed, progress, job.test_set, checkpoints=job.place)


def _in_workers(jobs: Sequence[Job], number: int, watch: Watch) -> Iterator[tuple[Job, Outcome]]:
    """As they come in. One whose worker broke is told as failed and not tried again."""
    if not jobs:
        return
    workers = ProcessWorkers(min(number, len(jobs)), threads=jobs[0].recipe.threads)
    with contextlib.closing(workers):
        for index, job in enumerate(jobs):
            workers.submit(Task(index, LAYER_TASK, _arguments(job)))
        left = set(range(len(jobs)))
        while left:
            for report in workers.wait(0.5):
                if isinstance(report, WorkerNote):
                    if report.kind == "stage":
                        job = jobs[report.details["task"]]
                        watch(job.layer, job.seed, progress_from_json(report.details["stage"]))
                    continue
                left.remove(report.task)
                yield jobs[report.task], outcome_of(report)


def _arguments(job: Job) -> dict[str, Any]:
    return {
        "layer": job.layer,
        "fitness": settings_to_table(job.recipe),
        "seed": job.seed,
        "test_set": job.test_set,
        "checkpoints": str(job.place.absolute()) if job.place else None,
    }


def _digest(layer: str, recipe: FitnessRecipe, seed: int, test_set: bool) -> str:
    text = json.dumps([layer, settings_to_table(recipe), seed, test_set], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _kept(place: Path | None) -> Outcome | None:
    if place is None or not (place / "outcome.json").exists():
        return None
    return outcome_from_json(json.loads((place / "outcome.json").read_text())["outcome"])


def _keep(job: Job, outcome: Outcome, code: str | None) -> None:
    """Writes the outcome, which is the sign that this evaluation is done, and drops what it would go on from."""
    place = job.place
    if place is None:
        return
    record = {
        "layer": job.layer,
        "seed": job.seed,
        "commit": code,
        "recipe": settings_to_table(job.recipe),
        "outcome": outcome_to_json(outcome),
    }
    write_atomically(place / "outcome.json", json.dumps(record, indent=1))
    for left in (*place.glob("*.pt"), place / StageLog.FILE):
        left.unlink(missing_ok=True)


def summary_rows(
    measurements: Sequence[Measurement], anchors: Sequence[str], figures: Sequence[str] = ("accuracy",)
) -> list[list[str]]:
    """Anchor by anchor, then on average, a row per layer: figures in % as mean ± spread over seeds, seconds a step.

    The spread is the sample standard deviation. Only seeds that passed every test count; `summary_notes` tells others.
    """
    scores = {
        layer: [each.outcome for each in measurements if each.layer == layer and isinstance(each.outcome, Scores)]
        for layer in dict.fromkeys(each.layer for each in measurements)
    }
    rows = []
    for name, over in [*((anchor, [anchor]) for anchor in anchors), *([("average", anchors)] if anchors[1:] else [])]:
        for layer, found in scores.items():
            cells = [mean_and_spread([_average(each, over, figure) for each in found]) for figure in figures]
            times = [_average(each, over, "seconds_per_step") for each in found]
            rows.append([name, layer, *cells, f"{statistics.median(times):.3f}" if times else "-"])
    return rows


def _average(scores: Scores, anchors: Sequence[str], figure: str) -> float:
    trained = {stage.anchor: stage.figures for stage in scores.stages if stage.name == Test.TRAINING}
    return statistics.fmean(trained[anchor][figure] for anchor in anchors)


def summary_notes(measurements: Sequence[Measurement]) -> list[str]:
    """What the rows do not say: which seeds did not come through and why, and what all of it took."""
    notes = [
        f"{each.layer}, seed {each.seed}: {_reason(each.outcome)}"
        for each in measurements
        if not isinstance(each.outcome, Scores)
    ]
    seconds = sum(stage.seconds for each in measurements for stage in each.outcome.stages)
    return [*notes, f"{seconds / 60:.1f} minutes in all"]


def mean_and_spread(values: Sequence[float]) -> str:
    """In %, of shares; the spread is the sample standard deviation, of one value there is none."""
    if not values:
        return "-"
    mean = f"{100 * statistics.fmean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * statistics.stdev(values):.1f}"


def _reason(outcome: Outcome) -> str:
    if isinstance(outcome, Rejected):
        figures = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in outcome.figures.items()
        )
        return f"rejected by {outcome.verdict.label}{f' on {outcome.anchor}' if outcome.anchor else ''} ({figures})"
    assert not isinstance(outcome, Scores)
    return f"{outcome}"
