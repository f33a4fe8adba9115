"""What a setup is called, and everything that is set in it: a result leaves out what is at its default."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import evonorm.fitness
import evonorm.tasks  # noqa: F401 (their tasks are in the register from now on)
from evonorm.report.kept_trainings import Setup
from evonorm.training import TASKS, TrainingRecipe

Table = dict[str, Any]


def full_settings(setup: Setup) -> Table:
    """With the defaults of the task, where it is known here."""
    known = asdict(TASKS[setup.task].settings()) if setup.task in TASKS else {}
    return _merged(known, setup.settings)


def full_training(setup: Setup) -> Table:
    """With the defaults of a training."""
    return _merged(asdict(TrainingRecipe()), setup.training)


def _merged(defaults: Mapping[str, Any], changed: Mapping[str, Any]) -> Table:
    both = {**defaults, **changed}
    inner = {name for name in changed if isinstance(changed[name], Mapping) and isinstance(defaults.get(name), Mapping)}
    return {name: _merged(defaults[name], changed[name]) if name in inner else value for name, value in both.items()}


def steps_per_epoch(setup: Setup) -> float | None:
    """None where the recipe counts steps."""
    found = full_training(setup)["steps_per_epoch"]
    return found if found != 1 else None


def model_of(setup: Setup) -> str:
    """The net that the layers were trained in, or the task where it does not say."""
    settings = full_settings(setup)
    return str(settings.get("model") or settings.get("anchor") or setup.task)


def setup_words(setup: Setup) -> str:
    """Net, pictures, batch, length and seeds: `mobilenetv2, 64x64 pixels, 64 images x 1 worker, 900 steps, 3 seeds`."""
    settings, training = full_settings(setup), full_training(setup)
    width, pictures = settings.get("width", 1), settings.get("pictures")
    parts = [model_of(setup) + (f" of width {width:g}" if width != 1 else "")]
    if isinstance(pictures, Mapping) and "size" in pictures:
        parts.append(f"{pictures['size']}x{pictures['size']} pixels")
    if settings.get("data"):
        parts.append(str(settings["data"]))
    workers = _counted(training["workers"], "worker")
    parts.append(f"{settings['images_per_worker']} images x {workers}" if "images_per_worker" in settings else workers)
    return ", ".join([*parts, _length(setup), _seeds(setup)])


def _length(setup: Setup) -> str:
    steps, an_epoch = full_training(setup)["steps"], steps_per_epoch(setup)
    return f"{steps:,} steps" if an_epoch is None else f"{steps / an_epoch:.3g} epochs ({steps:,} steps)"


def _seeds(setup: Setup) -> str:
    counts = sorted({len(setup.of(layer)) for layer in setup.layers})
    return _counted(counts[0], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def titles(setups: Sequence[Setup]) -> list[str]:
    """A name for each; where two would be called the same, also what is not the same in them."""
    plain = [setup_words(setup) for setup in setups]
    found = []
    for setup, words in zip(setups, plain, strict=True):
        alike = [other for other, same in zip(setups, plain, strict=True) if same == words]
        found.append("; ".join([words, *_differing(setup, alike)]))
    return found


def _differing(setup: Setup, others: Sequence[Setup]) -> list[str]:
    tables = [dict(all_settings(other)) for other in others]
    names = dict.fromkeys(name for table in tables for name in table)
    telling = [name for name in names if len({str(table.get(name)) for table in tables}) > 1]
    mine = dict(all_settings(setup))
    return [f"{name} {mine.get(name, 'not set')}" for name in telling]


def all_settings(setup: Setup) -> list[tuple[str, str]]:
    """Names with dots and values, of the training with its defaults.

    Of the task's settings those that the result names: a default that is not there may also have been left out because
    no figure depends on it.
    """
    parts = {"task": setup.task, "threads": setup.threads, "settings": setup.settings, "training": full_training(setup)}
    return [(name, str(value)) for name, value in _flat(parts)]


def _flat(table: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in table.items():
        if isinstance(value, Mapping):
            found += _flat(value, f"{before}{name}.")
        elif value is not None:
            found.append((f"{before}{name}", list(value) if isinstance(value, tuple) else value))
    return found
