"""A training as one TOML file: which task, its settings, how it is trained, and variants of all that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evonorm.foundation import unknown_name
from evonorm.journal import Question
from evonorm.runner.recipe_file import change_table, read_recipe_file
from evonorm.runner.settings import changed_settings, read_settings
from evonorm.training import TASKS, TrainingRecipe


@dataclass(frozen=True)
class TaskRecipe:
    """What is trained and how; `settings` belongs to the task, which says what it may hold."""

    task: str = "anchor"
    seed: int = 0
    threads: int = 2
    settings: Any = None
    training: TrainingRecipe = field(default_factory=TrainingRecipe)

    def in_steps(self) -> "TaskRecipe":
        """With a length in steps and the rate of its own batch, where the recipe counts epochs or images."""
        size = TASKS.find(self.task).size
        if size is not None:
            return replace(self, training=self.training.in_steps(size(self.settings)))
        if self.training.epochs is not None or self.training.rate_images is not None:
            raise ValueError(f"the task {self.task!r} does not say what an epoch is: give training.steps instead.")
        return self

    @property
    def images_a_step(self) -> int | None:
        """Over all workers; None where the task does not say."""
        size = TASKS.find(self.task).size
        return size(self.settings).images_per_worker * self.training.workers if size else None

    def question(self, layer: str) -> Question:
        """What decides the figures, roundings included: they differ with threads."""
        settings = changed_settings(self.settings) | self._identity()
        kept = {name: value for name, value in settings.items() if value is not None}
        parts = {"task": self.task, "seed": self.seed, "threads": self.threads}
        return {"what": "train", "layer": layer, **parts, "settings": kept, "training": changed_settings(self.training)}

    def _identity(self) -> dict[str, Any]:
        identity = TASKS.find(self.task).identity
        return identity(self.settings) if identity else {}


def load_task_recipe(path: Path, changes: Sequence[str] = (), variant: str | None = None) -> TaskRecipe:
    """The recipe in a TOML file, in one of its variants, after changes such as "training.steps=400".

    Mistakes name the place.
    """
    table = dict(read_recipe_file(path))
    variants = table.pop("variants", {})
    if variant is not None:
        if variant not in variants:
            raise unknown_name(f"variant of {path}", variant, tuple(variants))
        table = _merged(table, variants[variant])
    training: Any = table.get("training")
    counts_epochs = isinstance(training, dict) and "epochs" in training
    change_table(table, changes)
    if counts_epochs and "steps" in training:  # which would be left unread
        raise ValueError(
            f"{path} counts epochs, got training.steps = {training['steps']}. Change training.epochs instead;"
            " parts of one will do, such as training.epochs=0.1."
        )
    return task_recipe_from_table(table, str(path))


def task_recipe_from_table(table: Mapping[str, Any], where: str) -> TaskRecipe:
    """What a TOML file or another process says."""
    plain = read_settings(TaskRecipe, {key: value for key, value in table.items() if key != "settings"}, where)
    kind = TASKS.find(plain.task).settings
    return replace(plain, settings=read_settings(kind, table.get("settings", {}), f"{where} [settings]"))


def variants_of(path: Path) -> tuple[str, ...]:
    """The names of a recipe's variants."""
    return tuple(read_recipe_file(path).get("variants", {}))


def _merged(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The table with what changes say, tables inside of tables likewise."""
    merged = dict(table)
    for key, value in changes.items():
        inner = merged.get(key)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            value = _merged(inner, value)
        merged[key] = value
    return merged
