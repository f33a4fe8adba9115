"""Would the hurdles of a search have turned down layers that are known to be good?

    python -m evonorm.experiments.known_hurdles runs/NAME/journal.sqlite --recipe runs/NAME/recipe.toml

Trains the known layers on the rungs that have a hurdle, as `evonorm calibrate` does and in the same file of results,
and holds each against every hurdle that the search set. A search without moments over the batch is asked about layers
without them only: whoever learns fast from the batch would be no measure for the others.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from evonorm.experiments.calibrate import Curve, Level, cheap_trials, levels_of, measure
from evonorm.experiments.evaluate_layer import read_fitness_recipe
from evonorm.experiments.funnel import KNOWN_LAYERS
from evonorm.experiments.verdicts import markdown_table
from evonorm.graph import CATALOG, Graph
from evonorm.journal import Candidate, Reader

COLUMNS = ("layer", "seed", "rung", "accuracy, %", "gate", "last hurdle", "hurdles above it")


@dataclass(frozen=True)
class Trained:
    """A known layer's accuracy on a rung."""

    layer: str
    seed: int
    rung: Level
    accuracy: float


def known_layers(batch_ops: bool) -> list[str]:
    """The layers with a formula, without moments over the batch where a search may not use them."""
    graphs = {name: Graph.parse(formula) for name in KNOWN_LAYERS if (formula := CATALOG[name].formula)}
    return [name for name, graph in graphs.items() if batch_ops or not graph.batch_moments]


def heights_of(candidates: Sequence[Candidate], rung: int) -> list[float]:
    """The hurdles on a rung (counted from 0) of all who could meet one, in their order; 0 is none yet."""
    trained = (c.proposal for c in candidates if c.proposal.origin != "reference" and c.proposal.settled is None)
    return [proposal.hurdles[rung] for proposal in trained if proposal.hurdles]


def accuracies_on(rung: Level, curves: Sequence[Curve]) -> list[Trained]:
    """Of every layer and seed the average over the rung's anchors; a run that blew up counts as 0."""
    found: dict[tuple[str, int], list[float]] = {}
    for curve in curves:
        if curve.trial.anchor in rung.anchors:
            looks = {look.step: look.accuracy or 0.0 for look in curve.looks}
            found.setdefault((curve.trial.layer, curve.trial.seed), []).append(looks.get(rung.steps, 0.0))
    return [Trained(layer, seed, rung, sum(each) / len(each)) for (layer, seed), each in found.items()]


def hurdle_row(trained: Trained, heights: Sequence[float]) -> list[str]:
    above = sum(height > trained.accuracy for height in heights)
    figures = (f"{100 * each:.1f}" for each in (trained.accuracy, trained.rung.gate, heights[-1] if heights else 0.0))
    return [trained.layer, str(trained.seed), trained.rung.name, *figures, f"{above} of {len(heights)}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("journal", type=Path)
    parser.add_argument("--recipe", type=Path, required=True, help="the search's")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("runs/calibrate"))
    chosen = parser.parse_args()
    recipe = read_fitness_recipe(chosen.recipe)
    rungs = [(number, level) for number, level in enumerate(levels_of(recipe)) if level.hurdle > 0]
    if not rungs:
        parser.error(f"{chosen.recipe} has no rung with a hurdle; --recipe takes the one that the search was run with.")
    with Reader(chosen.journal) as reader:
        candidates = list(reader.candidates())
        batch_ops = reader.header()["recipe"]["search"].get("batch_ops", True)
    anchors = {anchor for _, rung in rungs for anchor in rung.anchors}
    trials = [t for t in cheap_trials(known_layers(batch_ops), recipe, range(chosen.seeds)) if t.anchor in anchors]
    curves = [curve for curve, _ in measure([(trial, recipe) for trial in trials], chosen.keep)]
    rows = [
        hurdle_row(trained, heights_of(candidates, number))
        for number, rung in rungs
        for trained in accuracies_on(rung, curves)
    ]
    Console(width=140).print(markdown_table(COLUMNS, rows), highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
