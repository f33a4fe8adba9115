"""Quality test: the first steps of the real run must lift the layer above chance (paper, "Rejection protocols")."""

from typing import Any

from evonorm.fitness.proxy_task import ProxyTask
from evonorm.journal import Progress, Test, Watcher
from evonorm.training import TrainingRun


def passes_quality(task: ProxyTask, watch: Watcher) -> tuple[bool, dict[str, Any]]:
    """Trains the task's run up to the test; a run that passes goes on from there."""
    recipe = task.recipe.quality

    def on_step(run: TrainingRun) -> None:
        watch(Progress(Test.QUALITY, task.anchor.name, run.step, recipe.steps, {"loss": run.losses[-1]}))

    ending = task.run.advance(recipe.steps, on_step=on_step)
    if ending == "non_finite_loss":
        return False, {"ending": ending, "step": task.run.step}
    accuracy = task.validate()
    return accuracy >= recipe.accuracy, {"step": task.run.step, "accuracy": accuracy, "loss": task.run.losses[-1]}
