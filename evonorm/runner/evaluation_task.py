"""What a worker runs for a candidate: the proxy task behind a dotted name and JSON."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evonorm.data import load_data
from evonorm.fitness import FitnessRecipe, evaluate
from evonorm.graph import Graph
from evonorm.journal import Failed, Outcome, Progress, StageKey, outcome_from_json, outcome_to_json
from evonorm.runner.settings import read_settings, settings_to_table
from evonorm.workers import Announced, Broken, Finished

PROXY_TASK = "evonorm.runner.evaluation_task:evaluate_candidate"
LAYER_TASK = "evonorm.runner.evaluation_task:evaluate_named_layer"
TOLD_EVERY = 1.0  # seconds
LOADING = "loading"  # what comes before the first step: data, nets

Announce = Callable[[Announced], None]


def checked_fitness(table: dict[str, Any], where: str) -> dict[str, Any]:
    """The [fitness] table with every default written out."""
    return settings_to_table(read_settings(FitnessRecipe, table, where))


def data_used(fitness: dict[str, Any]) -> dict[str, Any]:
    """Which pictures the run is about; raises where they are not on this machine."""
    data = load_data(fitness["data"])
    sizes = {"training": len(data.training), "validation": len(data.validation)}
    return {"name": data.name, "classes": data.classes, **sizes}


def outcome_of(report: Finished | Broken) -> Outcome:
    """What a worker's report on an evaluation amounts to."""
    if isinstance(report, Broken):
        return Failed(report.reason, report.error)
    try:
        return outcome_from_json(report.result)
    except ValueError as error:
        return Failed("garbage", str(error))


def evaluate_candidate(arguments: dict[str, Any], announce: Announce) -> dict[str, Any]:
    """The outcome of `layer` (a catalog name if `named`, else an encoded graph) under `fitness`, as JSON."""
    recipe = read_settings(FitnessRecipe, arguments["fitness"], "the task's fitness")
    layer = arguments["layer"] if arguments["named"] else Graph.decode(arguments["layer"])
    announce({"name": LOADING, "anchor": "", "rung": None})
    return outcome_to_json(evaluate(layer, recipe, arguments["seed"], Teller(announce)))


def evaluate_named_layer(arguments: dict[str, Any], announce: Announce) -> dict[str, Any]:
    """The outcome of `layer`, a name or a formula, as JSON; announces every second how far it is."""
    recipe = read_settings(FitnessRecipe, arguments["fitness"], "the task's fitness")
    checkpoints = Path(arguments["checkpoints"]) if arguments["checkpoints"] else None
    outcome = evaluate(
        arguments["layer"], recipe, arguments["seed"], Teller(announce), arguments["test_set"], checkpoints=checkpoints
    )
    return outcome_to_json(outcome)


class Teller:
    """Announces every second how far an evaluation is, and every stage when its first step is done."""

    def __init__(self, announce: Announce) -> None:
        self.announce = announce
        self.stage: StageKey | None = None
        self.told = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.key != self.stage or now >= self.told + TOLD_EVERY:
            self.stage, self.told = progress.key, now
            self.announce(progress.to_json())
