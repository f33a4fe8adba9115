"""How trainings went: validation accuracy and training loss over the steps, for one candidate or for several layers."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from evonorm.journal import Outcome, Stage
from evonorm.pictures import Axes, Figure, Line, file_name, line_chart
from evonorm.report.figures import PERCENT


def curves_of_candidate(stages: Iterable[Stage]) -> list[Figure]:
    """A line for each anchor, where the stages kept them."""
    return _figures((), "anchor", [(stage.anchor, [stage]) for stage in stages])


def curves_of_layers(outcomes: Mapping[str, Sequence[Outcome]]) -> list[Figure]:
    """For each anchor a line for each layer, the mean over its trainings that came as far as the longest."""
    stages = {layer: [stage for each in found for stage in each.stages] for layer, found in outcomes.items()}
    figures = []
    for anchor in dict.fromkeys(stage.anchor for stage in chain(*stages.values())):
        here = [(layer, [stage for stage in found if stage.anchor == anchor]) for layer, found in stages.items()]
        figures += _figures((anchor,), "layer", here)
    return figures


def _figures(where: tuple[str, ...], kind: str, labelled: Sequence[tuple[str, Sequence[Stage]]]) -> list[Figure]:
    found = []
    for name, what, unit, curve_of in (
        ("validation", "Validation accuracy", PERCENT, _accuracies),
        ("loss", "Training loss", "cross-entropy (nats)", _losses),
    ):
        curves = [(label, [curve for stage in stages if (curve := curve_of(stage))]) for label, stages in labelled]
        lines = [mean_line(label, several) for label, several in curves if several]
        if lines:
            title = " on ".join((what, *where))
            svg = line_chart(title, lines, Axes("training step", unit, x_whole=True))
            rows = [(line.label, x, y) for line in lines for x, y in zip(line.x, line.y, strict=True)]
            found.append(Figure(file_name(name, *where), title, svg, (kind, "step", unit), rows))
    return found


def _accuracies(stage: Stage) -> list[tuple[float, float]]:
    points: Any = stage.figures.get("curve")
    if not isinstance(points, list) or not all(isinstance(p, list | tuple) and len(p) == 2 for p in points):
        return []
    return [(step, 100 * accuracy) for step, accuracy in points]


def _losses(stage: Stage) -> list[tuple[float, float]]:
    losses, last = stage.figures.get("losses"), stage.figures.get("step", stage.steps)
    if not isinstance(losses, list) or len(losses) < 2 or not all(isinstance(each, int | float) for each in losses):
        return []
    return [(last * place / (len(losses) - 1), loss) for place, loss in enumerate(losses)]


def mean_line(label: str, curves: Sequence[Sequence[tuple[float, float]]], band: bool = False) -> Line:
    """The mean of those curves that came as far as the longest, in a band from the lowest to the highest if wanted."""
    steps = [step for step, _ in max(curves, key=lambda curve: (curve[-1][0], len(curve)))]
    whole = [curve for curve in curves if [step for step, _ in curve] == steps]
    values = list(zip(*([y for _, y in curve] for curve in whole), strict=True))
    means = [sum(points) / len(points) for points in values]
    if not band or len(whole) == 1:
        return Line(label, steps, means)
    return Line(label, steps, means, [min(points) for points in values], [max(points) for points in values])
