"""The table of a setup: every layer's measures over its seeds, beside the reference, and what the trainings took."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evonorm.foundation import Estimate, estimate
from evonorm.graph import graph_of
from evonorm.pictures import Markup
from evonorm.report.kept_trainings import REFERENCE, KeptTraining, Setup
from evonorm.report.layer_pictures import formula_picture
from evonorm.report.measures import ShownMeasure
from evonorm.report.setup_words import full_training

LONGEST_LABEL = 20  # letters of a name in a legend
ENDINGS = {"non_finite_loss": "loss not a number", "out_of_time": "out of time", "under_way": "under way"}


@dataclass(frozen=True)
class MeasureCell:
    """A measure of a layer, in its shown unit; `against` is the difference to the reference, paired by seed."""

    value: Estimate | None
    unusable: int  # seeds whose last value is not a number, or that were never measured
    against: Estimate | None
    verdict: str  # "better" or "worse" where the interval of the difference leaves zero out, else ""


@dataclass(frozen=True)
class TrainingRow:
    """One layer. `picture` is its formula, where it has one."""

    layer: str
    label: str
    picture: Markup | None
    seeds: int
    cells: list[MeasureCell]
    steps: str
    pace: float  # seconds a step
    wait: float | None  # share of the seconds
    early: list[str]
    under_way: list[str]

    @property
    def named(self) -> bool:
        """Whether the label says everything."""
        return self.label == self.layer


def labels_of(layers: Sequence[str]) -> dict[str, str]:
    """A short name for each layer: its own, or a letter where it is a long formula."""
    letters = (
        letter + (str(lap) if lap else "") for lap in range(len(layers)) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    )
    free = (letter for letter in letters if letter not in layers)
    return {layer: layer if len(layer) <= LONGEST_LABEL else next(free) for layer in layers}


def training_rows(setup: Setup, labels: Mapping[str, str]) -> list[TrainingRow]:
    """The reference, then the others by the measure that decides, the best first."""
    measures = setup.measures
    rows = [_row(setup, layer, labels[layer], measures) for layer in setup.layers]
    if measures:
        sign = -1 if measures[0].more_is_better else 1
        rows.sort(key=lambda row: (row.layer != REFERENCE, _sorting(row.cells[0].value, sign)))
    return rows


def _sorting(value: Estimate | None, sign: int) -> float:
    return math.inf if value is None else sign * value.mean


def _row(setup: Setup, layer: str, label: str, measures: Sequence[ShownMeasure]) -> TrainingRow:
    every, theirs = setup.of(layer), _ended(setup.of(REFERENCE)) if layer != REFERENCE else []
    mine = _ended(every)
    steps = sorted({each.steps for each in mine})
    words = {each.seed: early_words(each, full_training(setup)["steps"]) for each in every}
    waits = [each.waited for each in mine if each.waited is not None]
    seconds = sum(each.seconds for each in mine)
    return TrainingRow(
        layer=layer,
        label=label,
        picture=_picture(layer),
        seeds=len(mine),
        cells=[_cell(measure, mine, theirs) for measure in measures],
        steps=" to ".join(f"{step:,}" for step in dict.fromkeys((steps[0], steps[-1]))) if steps else "–",
        pace=seconds / max(1, sum(each.steps for each in mine)),
        wait=sum(waits) / seconds if seconds and len(waits) == len(mine) else None,
        early=[text for each in mine if (text := words[each.seed])],
        under_way=[str(words[each.seed]) for each in every if each.under_way],
    )


def _ended(trainings: Sequence[KeptTraining]) -> list[KeptTraining]:
    """What goes on counts for no mean: it may have far to go."""
    return [each for each in trainings if not each.under_way]


def early_words(training: KeptTraining, planned: int) -> str | None:
    """What ended a training before its last step, if anything did."""
    if training.ending == "reached":
        return None
    why = ENDINGS.get(training.ending, training.ending.replace("_", " "))
    return f"seed {training.seed}: {why} at step {training.steps:,} of {planned:,}"


def _cell(measure: ShownMeasure, mine: Sequence[KeptTraining], theirs: Sequence[KeptTraining]) -> MeasureCell:
    ours, others = _usable(measure, mine), _usable(measure, theirs)
    unusable = len(mine) - len(ours)
    value = estimate(list(ours.values())) if ours and not unusable else None
    pairs = [ours[seed] - others[seed] for seed in ours if seed in others]
    against = estimate(pairs) if pairs and not unusable else None
    return MeasureCell(value, unusable, against, _verdict(measure, against))


def _usable(measure: ShownMeasure, trainings: Sequence[KeptTraining]) -> dict[int, float]:
    """The last value of each seed that has a finite one, in its shown unit."""
    last = {each.seed: each.last(measure.name) for each in trainings}
    return {seed: measure.scale * value for seed, value in last.items() if value is not None and math.isfinite(value)}


def _verdict(measure: ShownMeasure, against: Estimate | None) -> str:
    if against is None or not against.excludes_zero:
        return ""
    return "better" if (against.mean > 0) == measure.more_is_better else "worse"


def _picture(layer: str) -> Markup | None:
    """None for what has no graph, or is a name that is not known here."""
    try:
        return formula_picture(graph_of(layer))
    except ValueError:
        return None
