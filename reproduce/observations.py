"""The paper's two observations on its search space, drawn from the journal of a random study.

    python reproduce/observations.py random-study --out docs/results/random-study

1. Accuracies of random layers on each anchor when the quality test looks, beside the references at the same step. Who
   blew up counts as chance. Most layers fall on the first anchor and are not asked on the next.
2. Those accuracies on pairs of anchors, for who was asked on both.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from evonorm.journal import Candidate, RunFolder
from evonorm.report.chart_frame import Axes
from evonorm.report.charts import Cell, Mark, histogram, scatter
from evonorm.report.figure_files import write_figures
from evonorm.report.figures import Figure

CHANCE = 10.0
WIDEST = 40.0  # %, of both kinds of figure

Accuracies = dict[str, float]  # of a layer by anchor, in %


def looked_at(candidate: Candidate) -> Accuracies:
    """What the quality test saw of a layer."""
    stages = candidate.outcome.stages if candidate.outcome else ()
    return {
        stage.anchor: 100 * stage.figures["accuracy"] if "accuracy" in stage.figures else CHANCE
        for stage in stages
        if stage.name == "quality"
    }


def histogram_figure(anchor: str, layers: Iterable[Accuracies], references: Mapping[str, Accuracies]) -> Figure:
    values = [each[anchor] for each in layers if anchor in each]
    edges = np.arange(0, WIDEST + 1, 1.0)
    counts = np.histogram(values, edges)[0].tolist()
    axes = Axes(f"accuracy (%) on {anchor}", f"random layers of {len(values)} (log scale)", y_log=True)
    marks = {name: each[anchor] for name, each in references.items() if name == "bn-relu"}
    svg = histogram(f"Random layers on {anchor}", edges.tolist(), counts, axes, marks)
    rows = list(zip(edges[:-1].tolist(), edges[1:].tolist(), counts, strict=True))
    return Figure(f"random_{anchor}", anchor, svg, ("from_percent", "to_percent", "layers"), rows)


def pair_figure(
    pair: tuple[str, str], layers: Iterable[Accuracies], references: Mapping[str, Accuracies]
) -> Figure | None:
    """A dot a layer that was asked on both; None where nobody was."""
    points = [(each[pair[0]], each[pair[1]]) for each in layers if set(pair) <= each.keys()]
    if not points:
        return None
    limits = (0.0, WIDEST)
    axes = Axes(f"accuracy (%) on {pair[0]}", f"accuracy (%) on {pair[1]}", limits, limits)
    marks = [Mark(each[pair[0]], each[pair[1]], name) for name, each in references.items()]
    svg = scatter(f"{pair[0]} against {pair[1]}", [Cell(x, y, 1) for x, y in points], [], marks, axes)
    columns = (f"{pair[0]}_percent", f"{pair[1]}_percent")
    return Figure(f"random_{pair[0]}_{pair[1]}", " against ".join(pair), svg, columns, points)


def figures_of(anchors: Sequence[str], layers: list[Accuracies], references: Mapping[str, Accuracies]) -> list[Figure]:
    pairs = [pair_figure(pair, layers, references) for pair in pairwise(anchors)]
    return [*(histogram_figure(anchor, layers, references) for anchor in anchors), *filter(None, pairs)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--out", type=Path, default=Path("docs/results/random-study"))
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    chosen = parser.parse_args()
    with RunFolder(chosen.runs, chosen.name).reader() as reader:
        references = {str(each.proposal.name): looked_at(each) for each in reader.references()}
        others = [each for each in reader.candidates() if each.proposal.origin != "reference"]
        anchors = reader.header()["recipe"]["fitness"]["anchors"]
    layers = [accuracies for each in others if (accuracies := looked_at(each))]
    write_figures(figures_of(anchors, layers, references), chosen.out)


if __name__ == "__main__":
    main()
