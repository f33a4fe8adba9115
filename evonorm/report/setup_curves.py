"""The curves of a setup: each measure and the training loss, a line a layer, the mean over its seeds in a band."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evonorm.pictures import Axes, Figure, Line, file_name, line_chart, padded
from evonorm.report.figures import PERCENT
from evonorm.report.kept_trainings import REFERENCE, Curve, KeptTraining, Setup
from evonorm.report.measures import ShownMeasure
from evonorm.report.setup_words import steps_per_epoch
from evonorm.report.training_curves import mean_line

MOST_LINES = 6  # in a chart: as many as can be told apart
LOSS_POINTS = 100  # of a curve; the losses of single batches are mostly noise
LONGEST_UNIT = 30  # letters beside the axis

Lines = dict[str, Line]  # of the layers
Limits = tuple[float, float] | None


@dataclass(frozen=True)
class SetupCurves:
    """Charts of the measure that decides, of the loss, and of everything else that was measured."""

    deciding: list[Figure]
    losses: list[Figure]
    others: list[Figure]

    @property
    def figures(self) -> list[Figure]:
        return [*self.deciding, *self.losses, *self.others]


def curves_of_setup(setup: Setup, layers: Sequence[str], labels: Mapping[str, str], name: str) -> SetupCurves:
    """Lines in the order of `layers`, under their labels; the names of files begin with `name`."""
    measured = []
    for measure in setup.measures:
        lines = _lines(setup, {layer: labels[layer] for layer in layers}, measure)
        unit = PERCENT if measure.percent else measure.name[:LONGEST_UNIT]
        measured.append(_charts(file_name(name, measure.name), measure.title, unit, lines, setup))
    lines = _lines(setup, {layer: labels[layer] for layer in layers})
    losses = _charts(file_name(name, "training loss"), "Training loss", "loss", lines, setup, _shown_losses(lines))
    deciding = measured[0] if measured else []
    return SetupCurves(deciding, losses, [figure for figures in measured[1:] for figure in figures])


def _lines(setup: Setup, labels: Mapping[str, str], measure: ShownMeasure | None = None) -> Lines:
    """Of a measure, or of the loss; layers that have none are left out."""
    found = {}
    for layer, label in labels.items():
        curves = [_losses(each) if measure is None else _values(each, measure) for each in setup.of(layer)]
        if any(curves):
            line = mean_line(label, [curve for curve in curves if curve], band=True)
            an_epoch = steps_per_epoch(setup) or 1
            found[layer] = replace(line, x=[step / an_epoch for step in line.x])
    return found


def _values(training: KeptTraining, measure: ShownMeasure) -> Curve:
    return [(step, measure.scale * value) for step, value in training.measured.get(measure.name, ())]


def _losses(training: KeptTraining) -> Curve:
    """At most so many points, each the mean of the steps since the one before."""
    together = math.ceil(len(training.losses) / LOSS_POINTS) or 1
    parts = [training.losses[start : start + together] for start in range(0, len(training.losses), together)]
    ends = [min((place + 1) * together * training.loss_every, training.steps) for place in range(len(parts))]
    return [(end, sum(part) / len(part)) for end, part in zip(ends, parts, strict=True)]


def _shown_losses(lines: Lines) -> Limits:
    """Up to twice the highest first loss: what explodes is cut, so that the others can be read."""
    values = [y for line in lines.values() for y in (*line.y, *line.low, *line.high) if math.isfinite(y)]
    first = max((line.y[0] for line in lines.values() if math.isfinite(line.y[0])), default=0.0)
    return padded([y for y in values if y <= 2 * first], 0.02) if 0 < 2 * first < max(values) else None


def _charts(name: str, title: str, unit: str, lines: Lines, setup: Setup, limits: Limits = None) -> list[Figure]:
    """One, or several with the reference in each and the same axes, where there are too many layers for one."""
    panels = _panels(list(lines))
    if len(panels) > 1 and limits is None:
        limits = padded([y for line in lines.values() for y in (*line.y, *line.low, *line.high)], 0.02)
    found = []
    for number, panel in enumerate(panels, start=1):
        part = () if len(panels) == 1 else (str(number),)
        heading = title if len(panels) == 1 else f"{title}, {number} of {len(panels)}"
        found.append(
            _chart(file_name(name, *part), heading, unit, {layer: lines[layer] for layer in panel}, setup, limits)
        )
    return found


def _panels(layers: Sequence[str]) -> list[list[str]]:
    if len(layers) <= MOST_LINES:
        return [list(layers)] if layers else []
    shared = [layer for layer in layers if layer == REFERENCE]
    others = [layer for layer in layers if layer not in shared]
    size = math.ceil(len(others) / math.ceil(len(others) / (MOST_LINES - len(shared))))
    return [[*shared, *others[start : start + size]] for start in range(0, len(others), size)]


def _chart(name: str, title: str, unit: str, lines: Lines, setup: Setup, limits: Limits) -> Figure:
    along = "training step" if steps_per_epoch(setup) is None else "epoch"
    axes = Axes(along, unit, y_limits=limits, x_whole=along == "training step")
    rows = [
        (layer, x, y, low, high)
        for layer, line in lines.items()
        for x, y, low, high in zip(line.x, line.y, line.low or line.y, line.high or line.y, strict=True)
    ]
    return Figure(
        name, title, line_chart(title, list(lines.values()), axes), ("layer", along, unit, "lowest", "highest"), rows
    )
