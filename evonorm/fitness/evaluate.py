"""The whole judgement of a layer: quality, stability, then training on every anchor (paper, section "Layer Search")."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch

from evonorm.fitness.ladder import climb_ladder
from evonorm.fitness.proxy_task import ProxyTask
from evonorm.fitness.quality import passes_quality
from evonorm.fitness.recipe import FitnessRecipe
from evonorm.fitness.stability import passes_stability
from evonorm.fitness.stage_log import StageLog
from evonorm.graph import Graph
from evonorm.journal import Failed, Outcome, Progress, Rejected, Scores, Stage, StageKey, Test, Watcher
from evonorm.training import Checkpoint, TrainingRun, keep_freed_memory

TestOnAnchor = Callable[[ProxyTask, Watcher], tuple[bool, dict[str, Any]]]
# Quality first: what it trains is not lost on a layer that passes, and most layers fail it on the first anchor.
TESTS: dict[str, TestOnAnchor] = {Test.QUALITY: passes_quality, Test.STABILITY: passes_stability}


def evaluate(
    graph: Graph | str,
    recipe: FitnessRecipe,
    seed: int,
    progress: Watcher | None = None,
    test_set: bool = False,
    checkpoints: Path | None = None,
) -> Outcome:
    """What comes of a layer under the recipe: Scores, or Rejected with the figures that decided, or Failed.

    `graph` may also be a layer's name ("bn-relu") or formula text. With `test_set` the last stages carry the accuracy
    on the test pictures too, which no search may look at. With `checkpoints`, a folder, the stages that the layer came
    through stay there, and so does a training in progress: when the same evaluation is begun again, it goes on from
    there. Mistakes of the caller (no data, an unknown name) raise.
    """
    keep_freed_memory()
    if isinstance(graph, Graph) and not graph.reads("x"):
        return Rejected(Test.READS_X, None, {"formula": str(graph)})
    log = StageLog(checkpoints)
    watch = progress or (lambda _: None)
    with number_of_threads(recipe.threads):
        task_on = cache(lambda anchor: ProxyTask(graph, anchor, recipe, seed))
        # the first one now: a mistake of the caller raises here, and not inside of the try
        task_on(recipe.ladder[0].anchors[0] if recipe.ladder else recipe.anchors[0])
        try:
            rejected = climb_ladder(
                recipe.ladder,
                task_on,
                watch,
                log.stages,
                lambda: _ask(Test.STABILITY, map(task_on, recipe.anchors), watch, log),
            )
            if rejected is not None:
                return rejected
            return _judge([task_on(anchor) for anchor in recipe.anchors], watch, log, test_set)
        except (RuntimeError, MemoryError, ArithmeticError) as error:  # torch's own; what a caller did wrong goes on
            return Failed("error", f"{type(error).__name__}: {error}", tuple(log.stages))


def _judge(tasks: list[ProxyTask], watch: Watcher, log: StageLog, test_set: bool) -> Outcome:
    for test in TESTS:
        if rejected := _ask(test, tasks, watch, log):
            return rejected
    for task in tasks:
        anchor = task.anchor.name
        if log.recall(StageKey(Test.TRAINING, anchor)):
            continue
        stage = _train(task, watch, log.steps_on(anchor), test_set, Checkpoint(log.checkpoint(anchor)))
        passed = "accuracy" in stage.figures
        log.add(stage, passed)
        if not passed:
            return Rejected(Test.TRAINING, anchor, stage.figures, tuple(log.stages))
    return Scores({stage.anchor: stage.figures["accuracy"] for stage in log.stages[-len(tasks) :]}, tuple(log.stages))


def _ask(test: str, tasks: Iterable[ProxyTask], watch: Watcher, log: StageLog) -> Rejected | None:
    """Takes a test on every anchor until one turns the layer down; once, though a rung may have asked before."""
    if any(stage.name == test for stage in log.stages):
        return None
    for task in tasks:
        if log.recall(StageKey(test, task.anchor.name)):
            continue
        stage, passed = _test(test, task, watch)
        log.add(stage, passed)
        if not passed:
            return Rejected(test, task.anchor.name, stage.figures, tuple(log.stages))
    return None


def _test(test: str, task: ProxyTask, watch: Watcher) -> tuple[Stage, bool]:
    start, first = time.perf_counter(), task.run.step
    passed, figures = TESTS[test](task, watch)
    steps = task.run.step - first if test == Test.QUALITY else figures["step"]  # a ladder may have trained it already
    return Stage(test, task.anchor.name, steps, time.perf_counter() - start, figures), passed


def _train(task: ProxyTask, watch: Watcher, first: int, test_set: bool, checkpoint: Checkpoint) -> Stage:
    """Takes the task's run from step `first` to the recipe's last one; without an accuracy if it blew up."""
    start, recipe = time.perf_counter(), task.recipe.training
    checkpoint.take_up(task.run)

    def on_step(run: TrainingRun) -> None:
        checkpoint.after_step(run)
        watch(Progress(Test.TRAINING, task.anchor.name, run.step, recipe.steps, {"loss": run.losses[-1]}))

    task.run.advance(first, on_step=on_step)  # again, where a process that was stopped left no checkpoint behind
    ending = task.run.advance(recipe.steps, measure=True, on_step=on_step)
    figures: dict[str, Any] = {"ending": ending, "step": task.run.step}
    if ending != "non_finite_loss":
        figures |= _final_figures(task, test_set)
    return Stage(Test.TRAINING, task.anchor.name, task.run.step - first, time.perf_counter() - start, figures)


def _final_figures(task: ProxyTask, test_set: bool) -> dict[str, Any]:
    run = task.run
    if not run.curve or run.curve[-1][0] != run.step:
        run.measure()
    recent = run.losses[-50:]
    figures = {
        "accuracy": run.curve[-1][1],
        "curve": [list(point) for point in run.curve],
        "loss": math.fsum(recent) / len(recent),
        "losses": [round(loss, 4) for loss in run.losses[:: max(1, len(run.losses) // 100)]],
        "seconds_per_step": run.seconds / run.step,
    }
    if run.average is not None and run.recipe.average.plain:
        figures["last_accuracy"] = run.measured["accuracy"][-1][1]
    if test_set:
        figures["test_accuracy"] = task.test()
    if test_set and run.average is not None:
        figures["averaged_test_accuracy"] = task.test_averaged()
    return figures


@contextmanager
def number_of_threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
