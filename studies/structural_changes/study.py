"""What each part of EvoNorm-B0 is for (paper, table of B0's structural changes): B0 and its variants, trained.

    python -m studies.structural_changes.study              # what is kept
    FRESH=1 python -m studies.structural_changes.study      # trains anew; goes on where it was stopped

400 steps on ResNet50-CIFAR at the paper's learning rate, no rejection test before, or until the loss is not finite.
"""

import argparse
from collections.abc import Sequence

from evonorm.fitness import FitnessRecipe
from evonorm.graph import CATALOG
from evonorm.pictures import markdown_table
from evonorm.runner import Curve, Trial, mean_and_spread, measure
from studies.kept_or_fresh import fresh, results

LAYERS = ("evonorm-b0", "b0-no-v1x", "b0-no-local", "b0-no-global", "b0-add")
ANCHOR = "resnet50-cifar"
LOOKS = (100, 200, 400)
RECIPE = FitnessRecipe(anchors=(ANCHOR,), threads=1)
COLUMNS = ["layer", "formula", *(f"{step} steps, %" for step in LOOKS), "loss not finite at step"]


def row(layer: str, curves: Sequence[Curve]) -> list[str]:
    """The layer's formula, accuracies over seeds at each look, and when its loss was not finite any more."""
    here = [curve for curve in curves if curve.trial.layer == layer]
    cells = [_cell([look.accuracy for curve in here for look in curve.looks if look.step == step]) for step in LOOKS]
    ended = ", ".join(str(curve.steps) for curve in here if curve.steps < LOOKS[-1])
    return [layer, CATALOG[layer].formula or "", *cells, ended or "-"]


def _cell(accuracies: list[float | None]) -> str:
    values = [each for each in accuracies if each is not None]
    return f"{mean_and_spread(values)} (n = {len(values)})"


def curves(seeds: int) -> list[Curve]:
    trials = [(Trial("target", layer, ANCHOR, seed, LOOKS), RECIPE) for seed in range(seeds) for layer in LAYERS]
    found = []
    for curve, left in measure(trials, results("structural_changes")):
        found.append(curve)
        if fresh():
            print(f"{curve.trial.layer}, seed {curve.trial.seed}: {curve} ({left / 60:.0f} min left)", flush=True)
    return found


def rows(found: Sequence[Curve]) -> list[list[str]]:
    return [row(layer, found) for layer in LAYERS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    print(markdown_table(COLUMNS, rows(curves(parser.parse_args().seeds))))


if __name__ == "__main__":
    main()
