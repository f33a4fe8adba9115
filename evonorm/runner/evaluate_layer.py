"""A person's idea for a layer through the whole protocol, beside its rivals in the same run (`evonorm evaluate`)."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evonorm.fitness import FitnessRecipe, evaluate
from evonorm.graph import CATALOG, catalog_spelling, graph_of
from evonorm.journal import (
    Failed,
    KeptResults,
    Outcome,
    Progress,
    Question,
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
from evonorm.runner.settings import changed_settings, read_settings, settings_to_table
from evonorm.runner.work_list import work_through, workers_for_list
from evonorm.workers import Announced, Task, WorkerRecipe, as_worker_recipe

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
        if catalog_spelling(layer) not in CATALOG and not graph_of(layer).reads("x"):
            raise ValueError(f"the formula {layer!r} does not read x: its output would be the same for every input.")


def evaluate_layers(
    layers: Sequence[str],
    recipe: FitnessRecipe,
    seeds: Sequence[int],
    *,
    watch: Watch = watch_nothing,
    kept: KeptResults | None = None,
    test_set: bool = False,
    workers: int | WorkerRecipe = 0,
) -> list[Measurement]:
    """Every layer under every seed, in this process or several at a time in workers.

    With `kept`, outcomes stay there and an interrupted training goes on.
    """
    check_layers(layers)
    wanted = [Evaluation(layer, recipe, seed, test_set) for seed in seeds for layer in layers]
    if kept:
        kept.expect([each.question for each in wanted], "evaluations")
    known = {each: kept.find(each.question) for each in wanted} if kept else {}
    found = {each: outcome_from_json(answer) for each, answer in known.items() if answer}
    jobs = {each: kept.partial(each.question) if kept else None for each in wanted if each not in found}
    who = as_worker_recipe(workers)
    for done, outcome in _in_this_process(jobs, watch) if who.kind == "inline" else _in_workers(jobs, who, watch):
        found[done] = outcome
        watch(done.layer, done.seed, None)
        if kept and not isinstance(outcome, Failed):
            kept.keep(done.question, outcome_to_json(outcome))
    return [Measurement(each.layer, each.seed, found[each]) for each in wanted]


def kept_measurements(
    layers: Sequence[str], recipe: FitnessRecipe, seeds: Sequence[int], kept: KeptResults, *, test_set: bool = False
) -> list[Measurement]:
    """Those of `evaluate_layers` that are known already; nothing is trained."""
    wanted = (Evaluation(layer, recipe, seed, test_set) for seed in seeds for layer in layers)
    answers = ((each, kept.find(each.question)) for each in wanted)
    return [Measurement(each.layer, each.seed, outcome_from_json(answer)) for each, answer in answers if answer]


@dataclass(frozen=True)
class Evaluation:
    """One layer under one seed."""

    layer: str
    recipe: FitnessRecipe
    seed: int
    test_set: bool = False

    @property
    def question(self) -> Question:
        """What its outcome is found by."""
        recipe = changed_settings(self.recipe)
        parts = {"layer": self.layer, "seed": self.seed, "test_set": self.test_set, "recipe": recipe}
        return {"what": "evaluation", **parts}


Jobs = Mapping[Evaluation, Path | None]  # what to do, and the folder that it goes on from if somebody has begun


def _in_this_process(jobs: Jobs, watch: Watch) -> Iterator[tuple[Evaluation, Outcome]]:
    for job, place in jobs.items():
        progress = partial(watch, job.layer, job.seed)
        yield job, evaluate(job.layer, job.recipe, job.seed, progress, job.test_set, checkpoints=place)


def _in_workers(jobs: Jobs, workers: WorkerRecipe, watch: Watch) -> Iterator[tuple[Evaluation, Outcome]]:
    """As they come in. One whose worker broke is told as failed and not tried again."""
    if not jobs:
        return
    every = list(jobs)
    tasks = [Task(index, LAYER_TASK, _arguments(job, jobs[job])) for index, job in enumerate(every)]

    def on_stage(task: int, stage: Announced) -> None:
        watch(every[task].layer, every[task].seed, progress_from_json(stage))

    recipe = every[0].recipe
    with workers_for_list(workers, len(tasks), recipe.threads, recipe.data) as found:
        for report in work_through(tasks, found, on_stage):
            yield every[report.task], outcome_of(report)


def _arguments(job: Evaluation, place: Path | None) -> dict[str, Any]:
    return {
        "layer": job.layer,
        "fitness": settings_to_table(job.recipe),
        "seed": job.seed,
        "test_set": job.test_set,
        "checkpoints": str(place.absolute()) if place else None,
    }


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
    if measurements and len({each.seed for each in measurements}) == 1:
        notes.append("one seed each: differences of a point or more may be luck. --seeds 3 shows how far they scatter")
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
