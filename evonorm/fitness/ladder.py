"""A ladder of fidelity: a candidate pays for the next rung only after clearing the last. Not in the paper.

Each rung trains on some anchors up to a step and turns down what lies below its gate, a fixed accuracy, or below its
hurdle, which the search sends along: a percentile of what the distinct candidates before reached on this rung. Where a
rung gives up, a run also ends half-way up if its loss is above the ceiling that the search sends along: nobody who came
so far with such a loss has cleared the rung yet. Runs go on from rung to rung and into the final training; nothing is
trained twice.
"""

import math
import time
from collections.abc import Callable
from typing import Any

from evonorm.fitness.proxy_task import Progress, ProxyTask, Watcher
from evonorm.fitness.recipe import Rung
from evonorm.journal import Rejected, Stage
from evonorm.training import TrainingRun

SHORT_STEPS, SHORT_IMAGES = 100, 1000  # a rung up to here validates on so few pictures, always the same ones
LOSS_MEMORY = 0.9  # of the running loss
BEHIND = "behind"  # how a run ends that is given up half-way


def rung_name(number: int) -> str:
    """The name of a rung's stages, counted from 1."""
    return f"rung {number}"


def climb(
    rungs: tuple[Rung, ...],
    hurdles: tuple[float, ...],
    ceilings: tuple[float, ...],
    task_on: Callable[[str], ProxyTask],
    watch: Watcher,
    stages: list[Stage],
    test_stability: Callable[[], Rejected | None],
) -> Rejected | None:
    """Takes a candidate up the ladder as far as it gets; adds a stage for every anchor that it was trained on."""
    for number, rung in enumerate(rungs, start=1):
        accuracies = []
        ceiling = ceilings[number - 1] if ceilings and rung.give_up else 0.0
        for anchor in rung.anchors:
            stage = _train_up(rung_name(number), task_on(anchor), rung.steps, ceiling, watch)
            stages.append(stage)
            if stage.figures["ending"] == BEHIND:
                return Rejected(f"{stage.name}: {BEHIND}", anchor, stage.figures, tuple(stages))
            accuracies.append(stage.figures.get("accuracy", 0.0))
            if accuracies[-1] < rung.gate or "accuracy" not in stage.figures:
                return Rejected(stage.name, anchor, {**stage.figures, "gate": rung.gate}, tuple(stages))
        average = math.fsum(accuracies) / len(accuracies)
        height = hurdles[number - 1] if hurdles else 0.0
        if average < height:
            return Rejected(rung_name(number), None, {"accuracy": average, "hurdle": height}, tuple(stages))
        if rung.stability and (rejected := test_stability()):
            return rejected
    return None


def _train_up(name: str, task: ProxyTask, steps: int, ceiling: float, watch: Watcher) -> Stage:
    """Trains to the rung's last step and looks; ends half-way above the ceiling, if there is one."""
    start, first = time.perf_counter(), task.run.step
    halfway = (first + steps) // 2

    def on_step(run: TrainingRun) -> None:
        watch(Progress(name, task.anchor.name, run.step, steps, {"loss": run.losses[-1]}))

    figures: dict[str, Any] = {}
    ending: str = task.run.advance(halfway, on_step=on_step)
    if ending == "reached" and halfway > first:
        figures["halfway_loss"] = running_loss(task.run.losses)
        if 0 < ceiling < figures["halfway_loss"]:
            ending, figures["ceiling"] = BEHIND, ceiling
    if ending == "reached":
        ending = task.run.advance(steps, on_step=on_step)
    if ending not in ("non_finite_loss", BEHIND):
        figures |= {"accuracy": look(task, steps), "running_loss": running_loss(task.run.losses)}
    figures |= {"ending": ending, "step": task.run.step}
    return Stage(name, task.anchor.name, task.run.step - first, time.perf_counter() - start, figures)


def look(task: ProxyTask, steps: int) -> float:
    """The accuracy now. After few steps moving moments lag behind the weights, so they are estimated anew."""
    if steps > SHORT_STEPS:
        return task.validate()
    return task.validate_briefly(SHORT_IMAGES)


def running_loss(losses: list[float]) -> float:
    """The moving average of the training loss: free, and as good an early sign as accuracy (Ru et al. 2021)."""
    average = losses[0]
    for loss in losses[1:]:
        average = LOSS_MEMORY * average + (1 - LOSS_MEMORY) * loss
    return average
