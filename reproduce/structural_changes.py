"""What each part of EvoNorm-B0 is for (paper, table of B0's structural changes): B0 and its variants, trained.

    python reproduce/structural_changes.py      # goes on where it was stopped

400 steps on ResNet50-CIFAR at the paper's learning rate, no rejection test before, or until the loss is not finite.
"""

import argparse
from pathlib import Path

from evonorm.fitness import FitnessRecipe
from evonorm.graph import CATALOG
from evonorm.pictures import markdown_table
from evonorm.runner import Curve, Trial, mean_and_spread, measure

LAYERS = ("evonorm-b0", "b0-no-v1x", "b0-no-local", "b0-no-global", "b0-add")
ANCHOR = "resnet50-cifar"
LOOKS = (100, 200, 400)


def row(layer: str, curves: list[Curve]) -> list[str]:
    """The layer's formula, accuracies over seeds at each look, and when its loss was not finite any more."""
    here = [curve for curve in curves if curve.trial.layer == layer]
    cells = [_cell([look.accuracy for curve in here for look in curve.looks if look.step == step]) for step in LOOKS]
    ended = ", ".join(str(curve.steps) for curve in here if curve.steps < LOOKS[-1])
    return [layer, CATALOG[layer].formula or "", *cells, ended or "-"]


def _cell(accuracies: list[float | None]) -> str:
    values = [each for each in accuracies if each is not None]
    return f"{mean_and_spread(values)} (n = {len(values)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--keep", type=Path, default=Path("docs/results/structural_changes"), help="a folder for every training"
    )
    chosen = parser.parse_args()
    recipe = FitnessRecipe(anchors=(ANCHOR,), threads=1)
    trials = [Trial("target", layer, ANCHOR, seed, LOOKS) for seed in range(chosen.seeds) for layer in LAYERS]
    curves = []
    for curve, left in measure([(trial, recipe) for trial in trials], chosen.keep):
        curves.append(curve)
        print(f"{curve.trial.layer}, seed {curve.trial.seed}: {curve.looks} ({left / 60:.0f} min left)", flush=True)
    columns = ["layer", "formula", *(f"{step} steps, %" for step in LOOKS), "loss not finite at step"]
    print(markdown_table(columns, [row(layer, curves) for layer in LAYERS]))


if __name__ == "__main__":
    main()
