"""Whether a cheap measure orders layers as an expensive one does, as a picture (`evonorm calibrate`)."""

from collections.abc import Sequence
from typing import NamedTuple

from evonorm.pictures import Axes, Cell, Figure, Mark, file_name, padded, scatter


class Pair(NamedTuple):
    """A layer's accuracies in percent, cheap and expensive; named ones are labelled, others are dots."""

    layer: str
    cheap: float
    target: float
    named: bool


def agreement_figure(name: str, title: str, pairs: Sequence[Pair], cheap: str, target: str) -> Figure:
    """Layers as points: the nearer to a rising curve, the better the cheap measure predicts."""
    across, up = padded([pair.cheap for pair in pairs], 2.0), padded([pair.target for pair in pairs], 2.0)
    axes = Axes(f"accuracy (%), {cheap}", f"accuracy (%), {target}", across, up)
    svg = scatter(
        title,
        [Cell(pair.cheap, pair.target, 1) for pair in pairs if not pair.named],
        [],
        [Mark(pair.cheap, pair.target, pair.layer) for pair in pairs if pair.named],
        axes,
    )
    columns = ("layer", "cheap_percent", "target_percent", "named")
    return Figure(file_name(name), title, svg, columns, [tuple(pair) for pair in pairs])
