"""The ten best functions of a run, judged again under fresh seeds (paper, appendix "Reranking", on the run's own nets).

    python reproduce/rerank.py b-evolution                  # trains what is not known yet, prints a table
    python reproduce/rerank.py b-evolution --formulas 3     # the same, but prints the best three and nothing else

The best of many noisy scores are partly the luckiest. Every layer meets the same seeds here, none of which it was
chosen by, and more validation pictures. Beside them the run's references.
"""

import argparse
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

from evonorm.fitness import FitnessRecipe, Progress
from evonorm.journal import RunFolder, Scores, leaderboard
from evonorm.pictures import markdown_table
from evonorm.runner import Measurement, evaluate_layers, read_settings

PICTURES = 3000  # for validation


def judged_again(
    folder: RunFolder, number: int, seeds: int, keep: Path, workers: int
) -> tuple[list[Measurement], list[str]]:
    """The measurements of the run's best and of its references, and the names of the latter."""
    with folder.reader() as reader:
        found = [str(row.candidate.proposal.graph) for row in leaderboard(reader, number)]
        references = [str(each.proposal.name) for each in reader.references()]
        fitness = read_settings(FitnessRecipe, reader.header()["recipe"]["fitness"], "the run's fitness")
    training = replace(fitness.training, validate_every=0)
    recipe = replace(fitness, ladder=(), validation_images=PICTURES, training=training)
    layers = [*references, *found]
    return evaluate_layers(layers, recipe, range(seeds), watch=tell, keep=keep, workers=workers), references


def tell(layer: str, seed: int, event: Progress | None) -> None:
    if event is None:
        print(f"{time.strftime('%H:%M:%S')} {layer}, seed {seed}: done", file=sys.stderr, flush=True)


def mean(measured: list[Measurement], layer: str, anchor: str | None = None) -> float:
    """Over seeds, in %, on one anchor or all; a seed that was turned down counts as chance."""
    outcomes = [each.outcome for each in measured if each.layer == layer]
    values = [
        (each.accuracies[anchor] if anchor else each.average) if isinstance(each, Scores) else 0.1 for each in outcomes
    ]
    return 100 * statistics.fmean(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--number", type=int, default=10, help="how many of the best")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--formulas", type=int, default=0, help="print only so many formulas, best first")
    parser.add_argument("--keep", type=Path, default=Path("docs/results/rerank"), help="a folder for every outcome")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    chosen = parser.parse_args()
    folder = RunFolder(chosen.runs, chosen.name)
    measured, references = judged_again(folder, chosen.number, chosen.seeds, chosen.keep, chosen.workers)
    layers = dict.fromkeys(each.layer for each in measured)
    ranked = sorted(layers, key=lambda layer: mean(measured, layer), reverse=True)
    if chosen.formulas:
        print(*[layer for layer in ranked if layer not in references][: chosen.formulas], sep="\n")
        return
    anchors = sorted(
        {anchor for each in measured if isinstance(each.outcome, Scores) for anchor in each.outcome.accuracies}
    )
    rows = [
        [f"`{layer}`", *(f"{mean(measured, layer, anchor):.1f}" for anchor in anchors), f"{mean(measured, layer):.1f}"]
        for layer in ranked
    ]
    print(markdown_table([f"layer, {chosen.seeds} seeds", *anchors, "mean"], rows))


if __name__ == "__main__":
    main()
