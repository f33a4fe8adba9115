"""One layer in one task, from a recipe to its measures (`evonorm train`). Goes on wherever it was stopped."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evonorm.fitness import number_of_threads
from evonorm.graph import graph_of
from evonorm.journal import KeptResults, Question
from evonorm.layers import layer_names
from evonorm.runner.recipe_file import read_recipe_file
from evonorm.runner.settings import changed_settings, read_settings
from evonorm.training import TASKS, Checkpoint, TrainingRecipe, TrainingRun, keep_freed_memory


@dataclass(frozen=True)
class TaskRecipe:
    """What is trained and how; `settings` belongs to the task, which says what it may hold."""

    task: str = "anchor"
    seed: int = 0
    threads: int = 2
    settings: Any = None
    training: TrainingRecipe = field(default_factory=TrainingRecipe)


@dataclass(frozen=True)
class Trained:
    """What came of it: the curve of every measure, the first of which decides, and how the run ended."""

    ending: str
    steps: int
    seconds: float
    measured: dict[str, list[tuple[int, float]]]
    losses: tuple[float, ...]


def load_task_recipe(path: Path, changes: Sequence[str] = ()) -> TaskRecipe:
    """The recipe in a TOML file after changes such as "training.steps=400"; mistakes name the place."""
    table = dict(read_recipe_file(path, changes))
    settings = table.pop("settings", {})
    plain = read_settings(TaskRecipe, table, str(path))
    chosen = read_settings(TASKS.find(plain.task).settings, settings, f"{path} [settings]")
    return TaskRecipe(plain.task, plain.seed, plain.threads, chosen, plain.training)


def train_question(recipe: TaskRecipe, layer: str) -> Question:
    """What decides the figures: roundings differ with threads."""
    parts = {"task": recipe.task, "seed": recipe.seed, "threads": recipe.threads}
    tables = {"settings": changed_settings(recipe.settings), "training": changed_settings(recipe.training)}
    return {"what": "train", "layer": layer, **parts, **tables}


def train(
    recipe: TaskRecipe, layer: str, kept: KeptResults, on_step: Callable[[TrainingRun], None] = lambda _: None
) -> Trained:
    """Trains, or finds what was trained before. A stopped training goes on from its last checkpoint."""
    if layer not in layer_names():
        graph_of(layer)
    question = train_question(recipe, layer)
    answer = kept.find(question)
    if answer is None:
        answer = vars(_train(recipe, layer, kept.partial(question) / "run.pt", on_step))
        kept.keep(question, answer)
    return Trained(**{**answer, "losses": tuple(answer["losses"])})


def _train(recipe: TaskRecipe, layer: str, checkpoint: Path, on_step: Callable[[TrainingRun], None]) -> Trained:
    keep_freed_memory()
    stored = Checkpoint(checkpoint)

    def after_step(run: TrainingRun) -> None:
        stored.after_step(run)
        on_step(run)

    with number_of_threads(recipe.threads):
        task = TASKS.find(recipe.task).create(layer, recipe.settings, recipe.training, recipe.seed)
        run = TrainingRun(task, recipe.training, recipe.seed)
        stored.take_up(run)
        ending = run.advance(recipe.training.steps, measure=True, on_step=after_step)
        if ending == "out_of_time":
            run.measure()
    losses = tuple(float(f"{loss:.6g}") for loss in run.losses)
    return Trained(ending, run.step, round(run.seconds, 3), run.measured, losses)
