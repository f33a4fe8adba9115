"""The paper's two observations on its search space, drawn from the journal of a random study.

    python -m studies.observations.study random-study --out figures
    python -m studies.observations.study b-random --survivors --out figures

1. Accuracies of random layers on each anchor when the quality test looks, beside the references at the same step. Who
   blew up counts as chance. Most layers fall on the first anchor and are not asked on the next.
2. Those accuracies on pairs of anchors, for who was asked on both. With --survivors, only of who came through every
   test, at the end of the training.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np

from evonorm.journal import Candidate, RunFolder, Scores
from evonorm.pictures import Axes, Cell, Figure, Mark, histogram, scatter, write_figures

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


def scored(candidate: Candidate) -> Accuracies:
    """How the training of a layer that came through every test ended; a score taken over from its equal is none."""
    outcome = candidate.outcome
    if not isinstance(outcome, Scores) or not outcome.stages:
        return {}
    return {anchor: 100 * accuracy for anchor, accuracy in outcome.accuracies.items()}


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


def survivor_figures(
    anchors: Sequence[str], layers: list[Accuracies], references: Mapping[str, Accuracies]
) -> list[Figure]:
    return [*filter(None, (pair_figure(pair, layers, references) for pair in combinations(anchors, 2)))]


def figures_of_run(folder: RunFolder, survivors: bool = False) -> list[Figure]:
    accuracies_of = scored if survivors else looked_at
    with folder.reader() as reader:
        references = {str(each.proposal.name): accuracies_of(each) for each in reader.references()}
        others = [each for each in reader.candidates() if each.proposal.origin != "reference"]
        anchors = reader.header()["recipe"]["fitness"]["anchors"]
    layers = [accuracies for each in others if (accuracies := accuracies_of(each))]
    return (survivor_figures if survivors else figures_of)(anchors, layers, references)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--survivors", action="store_true", help="only who came through every test, fully trained")
    parser.add_argument("--out", type=Path, required=True, help="a folder for the figures and their data")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    chosen = parser.parse_args()
    write_figures(figures_of_run(RunFolder(chosen.runs, chosen.name), chosen.survivors), chosen.out)


if __name__ == "__main__":
    main()
