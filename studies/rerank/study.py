"""The ten best functions of a run, judged again under fresh seeds (paper, appendix "Reranking", on the run's own nets).

    python -m studies.rerank.study b-evolution              # what is kept
    FRESH=1 python -m studies.rerank.study b-evolution      # trains anew; goes on where it was stopped

The best of many noisy scores are partly the luckiest. Every layer meets the same seeds here, none of which it was
chosen by, and more validation pictures. Beside them the run's references.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evonorm.fitness import FitnessRecipe, Progress
from evonorm.journal import Scores, leaderboard
from evonorm.pictures import markdown_table
from evonorm.runner import Measurement, evaluate_layers, read_settings
from studies.kept_or_fresh import results, run_of

PICTURES = 3000  # for validation
NUMBER, SEEDS = 10, 2


@dataclass(frozen=True)
class Reranked:
    """The measurements of a run's best and of its references, and the names of the latter."""

    measured: list[Measurement]
    references: list[str]

    @property
    def layers(self) -> list[str]:
        """The best first."""
        every = dict.fromkeys(each.layer for each in self.measured)
        return sorted(every, key=lambda layer: mean(self.measured, layer), reverse=True)

    @property
    def formulas(self) -> list[str]:
        """What the run found, the best first."""
        return [layer for layer in self.layers if layer not in self.references]


def judged_again(name: str, number: int = NUMBER, seeds: int = SEEDS, workers: int = 2) -> Reranked:
    with run_of("search", name) as folder, folder.reader() as reader:
        found = [str(row.candidate.proposal.graph) for row in leaderboard(reader, number)]
        references = [str(each.proposal.name) for each in reader.references()]
        table = {**reader.header()["recipe"]["fitness"], "ladder": []}
    fitness = read_settings(FitnessRecipe, table, "the run's fitness")
    training = replace(fitness.training, validate_every=0)
    recipe = replace(fitness, validation_images=PICTURES, training=training)
    layers = [*references, *found]
    measured = evaluate_layers(layers, recipe, range(seeds), watch=tell, kept=results("rerank"), workers=workers)
    return Reranked(measured, references)


def tell(layer: str, seed: int, event: Progress | None) -> None:
    if event is None:
        print(f"{time.strftime('%H:%M:%S')} {layer}, seed {seed}: done", file=sys.stderr, flush=True)


def mean(measured: Sequence[Measurement], layer: str, anchor: str | None = None) -> float:
    """Over seeds, in %, on one anchor or all; a seed that was turned down counts as chance."""
    outcomes = [each.outcome for each in measured if each.layer == layer]
    values = [
        (each.accuracies[anchor] if anchor else each.average) if isinstance(each, Scores) else 0.1 for each in outcomes
    ]
    return 100 * statistics.fmean(values)


def anchors_of(measured: Sequence[Measurement]) -> list[str]:
    scores = [each.outcome for each in measured if isinstance(each.outcome, Scores)]
    return sorted({anchor for each in scores for anchor in each.accuracies})


def rows(found: Reranked) -> list[list[str]]:
    """A row a layer, the best first: on every anchor, then on average."""
    where = [*anchors_of(found.measured), None]
    return [[f"`{layer}`", *(f"{mean(found.measured, layer, each):.1f}" for each in where)] for layer in found.layers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=["b-evolution", "s-evolution"])
    parser.add_argument("--number", type=int, default=NUMBER, help="how many of the best")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    found = judged_again(chosen.name, chosen.number, chosen.seeds, chosen.workers)
    print(markdown_table([f"layer, {chosen.seeds} seeds", *anchors_of(found.measured), "mean"], rows(found)))


if __name__ == "__main__":
    main()
