"""A training taken up to look at and not to go on: as it ended, or as its latest checkpoint has it."""

import evonorm.tasks  # noqa: F401 (its tasks are in the register from now on)
from evonorm.journal import KeptResults
from evonorm.runner.task_recipe import TaskRecipe
from evonorm.training import TASKS, TrainingRun, load_checkpoint, load_weights


def stored_training(recipe: TaskRecipe, layer: str, kept: KeptResults) -> TrainingRun:
    """The run with the weights that are stored; raises ValueError where there are none."""
    recipe = recipe.in_steps()
    question = recipe.question(layer)
    checkpoint, weights = kept.partial(question) / "run.pt", kept.weights(question)
    if not checkpoint.exists() and not weights.exists():
        raise ValueError(
            f"{kept.path} has no training of {layer!r} under this recipe: neither the weights that it ended with"
            f" ({weights}) nor a checkpoint. Begin it with evonorm train, or name the folder that it keeps them in."
        )
    task = TASKS.find(recipe.task).create(layer, recipe.settings, recipe.training, recipe.seed)
    run = TrainingRun(task, recipe.training, recipe.seed)
    if weights.exists():
        run.step = load_weights(task.model, weights)
    else:
        load_checkpoint(run, checkpoint)
    return run
