"""A training that has not come to its end, taken up to look at and not to go on."""

from pathlib import Path

import evonorm.tasks  # noqa: F401 (its tasks are in the register from now on)
from evonorm.journal import KeptResults
from evonorm.runner.task_recipe import TaskRecipe
from evonorm.training import TASKS, TrainingRun, load_checkpoint


def stored_training(recipe: TaskRecipe, layer: str, kept: KeptResults) -> TrainingRun:
    """The run as its latest checkpoint has it; raises ValueError where there is none."""
    recipe = recipe.in_steps()
    path: Path = kept.partial(recipe.question(layer)) / "run.pt"
    if not path.exists():
        ended = kept.find(recipe.question(layer)) is not None
        raise ValueError(
            f"{kept.path} has no checkpoint of {layer!r} under this recipe: "
            + ("that training has ended, and its weights went with it." if ended else "it has not begun.")
        )
    task = TASKS.find(recipe.task).create(layer, recipe.settings, recipe.training, recipe.seed)
    run = TrainingRun(task, recipe.training, recipe.seed)
    load_checkpoint(run, path)
    return run
