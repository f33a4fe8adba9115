"""A ladder of fidelity: a candidate pays for the next rung only after clearing the last. Not in the paper.

Each rung trains on some anchors up to a step and turns down what lies below its gate, a fixed accuracy. Runs go on from
rung to rung and into the final training; nothing is trained twice.
"""

import time
from collections.abc import Callable
from typing import Any

from evonorm.fitness.proxy_task import ProxyTask
from evonorm.fitness.recipe import Rung
from evonorm.journal import Progress, Rejected, Stage, Test, Watcher
from evonorm.training import TrainingRun

SHORT_STEPS, SHORT_IMAGES = 100, 1000  # a rung up to here validates on so few pictures, always the same ones
LOSS_MEMORY = 0.9  # of the running loss


def climb_ladder(
    rungs: tuple[Rung, ...],
    task_on: Callable[[str], ProxyTask],
    watch: Watcher,
    stages: list[Stage],
    test_stability: Callable[[], Rejected | None],
) -> Rejected | None:
    """Takes a candidate up the ladder as far as it gets; adds a stage for every anchor that it was trained on."""
    for number, rung in enumerate(rungs, start=1):
        for anchor in rung.anchors:
            stage = _train_up(number, task_on(anchor), rung.steps, watch)
            stages.append(stage)
            if stage.figures.get("accuracy", -1.0) < rung.gate:
                figures = {**stage.figures, "gate": rung.gate}
                return Rejected(Test.RUNG, anchor, figures, tuple(stages), number)
        if rung.stability and (rejected := test_stability()):
            return rejected
    return None


def _train_up(number: int, task: ProxyTask, steps: int, watch: Watcher) -> Stage:
    """Trains to the rung's last step and looks; without an accuracy if it blew up."""
    start, first = time.perf_counter(), task.run.step

    def on_step(run: TrainingRun) -> None:
        watch(Progress(Test.RUNG, task.anchor.name, run.step, steps, {"loss": run.losses[-1]}, number))

    ending = task.run.advance(steps, on_step=on_step)
    figures: dict[str, Any] = {"ending": ending, "step": task.run.step}
    if ending != "non_finite_loss":
        figures |= {"accuracy": accuracy_now(task, steps), "running_loss": running_loss(task.run.losses)}
    return Stage(Test.RUNG, task.anchor.name, task.run.step - first, time.perf_counter() - start, figures, number)


def accuracy_now(task: ProxyTask, steps: int) -> float:
    """After few steps moving moments lag behind the weights, so they are estimated anew."""
    if steps > SHORT_STEPS:
        return task.validate()
    return task.validate_briefly(SHORT_IMAGES)


def running_loss(losses: list[float]) -> float:
    """The moving average of the training loss: free, and as good an early sign as accuracy (Ru et al. 2021)."""
    average = losses[0]
    for loss in losses[1:]:
        average = LOSS_MEMORY * average + (1 - LOSS_MEMORY) * loss
    return average
