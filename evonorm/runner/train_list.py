"""Many trainings as a list: each is found again or trained, one after the other or several at a time in workers."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evonorm.journal import Failed, KeptResults, Question
from evonorm.runner.task_recipe import TaskRecipe, task_recipe_from_table
from evonorm.runner.train_layer import Trained, check_layer, train_from, trained_from
from evonorm.runner.work_list import work_through, workers_for_list
from evonorm.training import TrainingRun
from evonorm.workers import Announced, Broken, Task, WorkerRecipe

TRAINING_TASK = "evonorm.runner.train_list:train_in_worker"
TOLD_EVERY = 1.0  # seconds


@dataclass(frozen=True)
class Training:
    """One layer under one recipe, whose length is in steps."""

    layer: str
    recipe: TaskRecipe

    @property
    def question(self) -> Question:
        return self.recipe.question(self.layer)


Watch = Callable[[Training, Announced], None]  # where a training is: step, steps and loss
Found = dict[Training, Trained | Failed]


def train_all(
    trainings: Sequence[Training],
    kept: KeptResults,
    workers: int | WorkerRecipe = 1,
    watch: Watch = lambda *_: None,
    on_found: Callable[[Training, Trained | Failed], None] = lambda *_: None,
) -> Found:
    """What came of every training, in the order of the list; one that a worker failed at is not kept.

    The same call again goes on: what is kept is not trained, and what was stopped goes on from its checkpoint.
    """
    for training in trainings:
        check_layer(training.layer)
    kept.expect([each.question for each in trainings], "trainings")
    found: Found = {each: trained_from(answer) for each in trainings if (answer := kept.find(each.question))}
    jobs = [each for each in trainings if each not in found]
    for training, outcome in _in_workers(jobs, kept.path, workers, watch):
        found[training] = outcome
        if isinstance(outcome, Trained):
            kept.keep(training.question, vars(outcome))
        on_found(training, outcome)
    return {each: found[each] for each in trainings}


def _in_workers(
    every: Sequence[Training], kept: Path, workers: int | WorkerRecipe, watch: Watch
) -> Iterator[tuple[Training, Trained | Failed]]:
    if not every:
        return
    tasks = [Task(index, TRAINING_TASK, _arguments(each, kept)) for index, each in enumerate(every)]
    with workers_for_list(workers, len(tasks), every[0].recipe.threads) as found:
        for report in work_through(tasks, found, lambda task, stage: watch(every[task], stage)):
            if isinstance(report, Broken):
                yield every[report.task], Failed(report.reason, report.error)
            else:
                yield every[report.task], trained_from(report.result)


def _arguments(training: Training, kept: Path) -> dict[str, Any]:
    return {"layer": training.layer, "recipe": asdict(training.recipe), "kept": str(kept.absolute())}


def train_in_worker(arguments: dict[str, Any], announce: Callable[[Announced], None]) -> dict[str, Any]:
    """What a worker runs: the training of `layer` under `recipe`; what it goes on from is beside the file `kept`."""
    recipe = task_recipe_from_table(arguments["recipe"], "the training's recipe")
    tell = partial(_tell, announce, recipe.training.steps, [0.0])
    return vars(train_from(KeptResults(Path(arguments["kept"])), recipe, arguments["layer"], tell))


def _tell(announce: Callable[[Announced], None], steps: int, told: list[float], run: TrainingRun) -> None:
    if time.monotonic() >= told[0] + TOLD_EVERY:
        told[0] = time.monotonic()
        announce({"name": "training", "step": run.step, "steps": steps, "loss": run.losses[-1]})
