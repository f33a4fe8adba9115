"""Tasks by name: what `evonorm train` can train, ours and other people's."""

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Any

from evonorm.foundation import Register, check_plain_name
from evonorm.training.recipe import EpochSize, TrainingRecipe
from evonorm.training.task import Task

CreateTask = Callable[[str, Any, TrainingRecipe, int], Task]  # layer, settings, recipe, seed
SizeOf = Callable[[Any], EpochSize]
Identify = Callable[[Any], dict[str, Any]]


@dataclass(frozen=True)
class TaskEntry:
    """A named task: what a recipe's [settings] can choose, as a frozen dataclass, and how the task is made.

    `size` tells what an epoch is under given settings; without it recipes of the task count steps. `identity` tells
    what decides the figures beside the settings, as a dict; a value of None takes the setting of that name out.
    """

    settings: type[Any]
    create: CreateTask
    size: SizeOf | None = None
    identity: Identify | None = None


TASKS: Register[TaskEntry] = Register("task")


def register_task(
    name: str,
    settings: type[Any],
    create: CreateTask,
    size: SizeOf | None = None,
    identity: Identify | None = None,
) -> None:
    """Adds a task that a recipe names with `task = "..."`.

    Arguments:
        name: letters, digits, `-` and `_`.
        settings: a frozen dataclass with a default for every field; a recipe's [settings] table is read into it.
        create: (layer, settings, recipe, seed) -> Task, with the layer as a name or a formula.
        size: (settings) -> EpochSize, so that recipes may count epochs and scale their rate with the batch.
        identity: (settings) -> dict, what a kept result is found by beside the settings, such as a checksum of the
            data; {"data": None} takes the setting `data` out, since a path decides nothing.

    docs/proxy_task.md writes a whole task. Raises ValueError for a name that is taken or cannot be typed, TypeError for
    settings that are no dataclass.

    Example:
        @dataclasses.dataclass(frozen=True)
        class Settings:
            model: str = "resnet-nano"

        def create(layer, settings, recipe, seed):
            model = evonorm.create_model(settings.model, layer)
            noise = NoiseBatches(seed)  # has batch(step, worker) -> pictures, labels
            return evonorm.training.Classification(model, noise, undecayed=evonorm.no_weight_decay(model))

        evonorm.register_task("my-task", Settings, create)
    """
    check_plain_name(name, "task")
    if not (isinstance(settings, type) and is_dataclass(settings)):
        raise TypeError(f"settings must be a dataclass with what a recipe can choose, got {settings!r}.")
    TASKS.add(name, TaskEntry(settings, create, size, identity))
