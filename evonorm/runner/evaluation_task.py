"""What a worker runs for a candidate: the proxy task behind a dotted name and JSON.

The fitness is imported inside the functions: the driver only hands out names, and a worker must have its threads set
before torch comes in.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evonorm.graph import Graph
from evonorm.journal import Failed, Outcome, outcome_from_json, outcome_to_json
from evonorm.runner.settings import read_settings, settings_to_table
from evonorm.workers import Broken, Finished

if TYPE_CHECKING:
    from evonorm.fitness import Progress

PROXY_TASK = "evonorm.runner.evaluation_task:evaluate_candidate"
PERSONS_IDEA = "evonorm.runner.evaluation_task:evaluate_idea"
TOLD_EVERY = 1.0  # seconds


def checked_fitness(table: dict[str, Any], where: str) -> dict[str, Any]:
    """The [fitness] table with every default written out."""
    from evonorm.fitness import FitnessRecipe

    return settings_to_table(read_settings(FitnessRecipe, table, where))


def data_used(fitness: dict[str, Any]) -> dict[str, Any]:
    """Which pictures the run is about; raises where they are not on this machine."""
    from evonorm.data import load_data

    data = load_data(fitness["data"])
    sizes = {"training": len(data.training), "validation": len(data.validation)}
    return {"name": data.name, "classes": data.classes, **sizes}


def outcome_of(report: Finished | Broken) -> Outcome:
    """What a worker's report on an evaluation amounts to; an error begins with its reason and a colon."""
    if isinstance(report, Broken):
        return Failed(f"{report.reason}: {report.error}")
    try:
        return outcome_from_json(report.result)
    except ValueError as error:
        return Failed(f"garbage: {error}")


def evaluate_candidate(arguments: dict[str, Any], announce: Callable[[str], None]) -> dict[str, Any]:
    """The outcome of `layer` (a catalog name if `named`, else an encoded graph) under `fitness`, as JSON."""
    from evonorm.fitness import FitnessRecipe, evaluate

    recipe = read_settings(FitnessRecipe, arguments["fitness"], "the task's fitness")
    layer = arguments["layer"] if arguments["named"] else Graph.decode(arguments["layer"])
    outcome = evaluate(layer, recipe, arguments["seed"], _StageCaller(announce))
    return outcome_to_json(outcome)


def evaluate_idea(arguments: dict[str, Any], announce: Callable[[str], None]) -> dict[str, Any]:
    """The outcome of `layer`, a name or a formula, as JSON; announces where it is as the words of `Progress`."""
    from evonorm.fitness import FitnessRecipe, evaluate

    recipe = read_settings(FitnessRecipe, arguments["fitness"], "the task's fitness")
    checkpoints = Path(arguments["checkpoints"]) if arguments["checkpoints"] else None
    told = 0.0

    def tell(progress: "Progress") -> None:
        nonlocal told
        if time.monotonic() >= told + TOLD_EVERY:
            told = time.monotonic()
            announce(f"{progress.stage}|{progress.anchor}|{progress.step}|{progress.steps}")

    outcome = evaluate(
        arguments["layer"], recipe, arguments["seed"], tell, arguments["test_set"], checkpoints=checkpoints
    )
    return outcome_to_json(outcome)


class _StageCaller:
    """Announces a stage when its first step is done."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        self.announce = announce
        self.stage = ""

    def __call__(self, progress: "Progress") -> None:
        stage = f"{progress.stage} {progress.anchor}"
        if stage != self.stage:
            self.stage = stage
            self.announce(stage)
