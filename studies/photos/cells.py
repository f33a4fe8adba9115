"""What came of the trainings of a table, found among what is kept, whoever has trained it."""

import statistics
from dataclasses import dataclass, replace
from typing import Any

from evonorm.foundation import estimate
from evonorm.journal import KeptResults
from evonorm.runner import Trained, changed_settings, trained_from
from evonorm.training import EpochSize
from studies.photos.tables import Column, Table


@dataclass(frozen=True)
class Cell:
    """The trainings of one layer in one column, by seed."""

    layer: str
    column: Column
    trained: dict[int, Trained]

    @property
    def values(self) -> dict[int, float]:
        """Of the measure that decides, in %."""
        return {seed: 100 * each.result for seed, each in self.trained.items()}

    def __str__(self) -> str:
        if not self.trained:
            return "-"
        values = list(self.values.values())
        spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
        ends = ", ".join(str(each.steps) for each in self.trained.values() if each.ending != "reached")
        broken = f" (loss not a number at step {ends})" if ends else ""
        return f"{statistics.fmean(values):.1f}{spread}{broken} (n = {len(values)})"


Cells = dict[tuple[str, str], Cell]  # by layer and column


def difference(ours: Cell, theirs: Cell) -> str:
    """The mean over common seeds of ours less theirs, with its 95 % interval: the same seed has the same photos."""
    common = sorted(ours.values.keys() & theirs.values.keys())
    if (ours.layer, ours.column) == (theirs.layer, theirs.column) or len(common) < 2:
        return ""
    found = estimate([ours.values[seed] - theirs.values[seed] for seed in common])
    return f"{found.mean:+.1f} [{found.low:+.1f}, {found.high:+.1f}]"


def find_cells(table: Table, kept: KeptResults, photos: int) -> Cells:
    """By everything that decides a training but the photos' names, which those who only look do not have."""
    answers = {repr(_but_photos(each["question"])): each["answer"] for each in kept.records()}
    found = {}
    for column in table.columns:
        for layer in table.layers:
            wanted = {seed: answers.get(repr(_wanted(column, layer, seed, photos))) for seed in range(table.seeds)}
            trained = {seed: trained_from(answer) for seed, answer in wanted.items() if answer}
            found[layer, column.name] = Cell(layer, column, trained)
    return found


def _wanted(column: Column, layer: str, seed: int, photos: int) -> dict[str, Any]:
    recipe = column.load(seed)
    held_out = round(photos * recipe.settings.held_out)
    size = EpochSize(photos - held_out, recipe.settings.images_per_worker)
    recipe = replace(recipe, training=recipe.training.in_steps(size))
    parts = {"what": "train", "layer": layer, "task": recipe.task, "seed": seed, "threads": recipe.threads}
    tables = {"settings": changed_settings(recipe.settings), "training": changed_settings(recipe.training)}
    return _but_photos({**parts, **tables})


def _but_photos(question: dict[str, Any]) -> list[Any]:
    """In an order of its own, so that equal ones look equal."""
    left_out = ("photos", "data", "loaders", "evaluation_batch")
    settings = {key: value for key, value in question.get("settings", {}).items() if key not in left_out}
    return _sorted({**question, "settings": settings})


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return [(key, _sorted(value[key])) for key in sorted(value)]
    return [_sorted(each) for each in value] if isinstance(value, list) else value
