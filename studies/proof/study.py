"""Is what a search found ahead of BN-ReLU on the paper's own three nets? 2000 steps, seeds written down before.

    python -m studies.proof.study                                        # what is kept
    FRESH=1 python -m studies.proof.study --layers bn-relu evonorm-b0    # trains; goes on where it was stopped

The protocol, fixed before anything was trained: seeds 100 to 105 (107 if the hours allow), the same for every layer,
that no search, judging or choice has used. One candidate a mode, chosen on validation pictures. Each training gives
two figures on the test pictures: the last step with moving moments, as the paper has it, and the weights averaged over
training (decay 0.99) with moments over 16 batches, **which decides**. "Ahead of BN-ReLU" means that on each of the
three nets the interval of the difference lies above zero (an intersection-union test, so nothing is corrected for
three); "matches EvoNorm-B0" that the interval of the mean over the nets lies above -1 point. Intervals are Welch's, of
95 %: at this length the seed says nothing about a difference, and layers do not spread alike. A training that breaks
counts as 10 %, which is chance.
"""

import argparse
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scipy import stats

from evonorm.fitness import FitnessRecipe, QualityRecipe, StabilityRecipe
from evonorm.foundation import Estimate
from evonorm.journal import Scores, Test
from evonorm.pictures import markdown_table
from evonorm.runner import Measurement, evaluate_layers, kept_measurements, kept_results, read_fitness_recipe
from evonorm.training import AverageRecipe
from studies.kept_or_fresh import STUDIES, fresh, scratch

STUDY = "proof"
ANCHORS = ("resnet50-cifar", "mobilenetv2-cifar", "efficientnet-b0-cifar")
FIRST_SEED, STEPS, CHANCE, MARGIN = 100, 2000, 10.0, 1.0
BASE, RIVAL = "bn-relu", "evonorm-b0"
LAYERS = (BASE, RIVAL)  # and the candidates, once they are chosen
FIGURES = {
    "averaged weights, moments over 16 batches": "averaged_test_accuracy",
    "last step, moving moments, as in the paper": "test_accuracy",
}
Measured = dict[str, list[Measurement]]  # by anchor
ByAnchor = dict[str, dict[int, float]]  # in %, by seed


def paper_recipe(mode: str, anchor: str, steps: int) -> FitnessRecipe:
    """The paper's recipe of a mode cut to so many steps on one net: no gates, one thread, weights averaged beside."""
    paper = read_fitness_recipe(Path(f"paper_{mode}"), ["fitness.quality.steps=1"])
    training = replace(paper.training, steps=steps, validate_every=0, average=AverageRecipe(decay=0.99, ramp=True))
    return replace(
        paper,
        anchors=(anchor,),
        threads=1,
        moments="reestimated",
        moment_batches=16,
        training=training,
        quality=QualityRecipe(steps=1, accuracy=0.0),
        stability=StabilityRecipe(steps=0),
    )


@dataclass(frozen=True)
class Proof:
    """What one layer came to on the nets that it was trained on."""

    layer: str
    by_anchor: ByAnchor

    def on(self, anchor: str) -> list[float]:
        return list(self.by_anchor.get(anchor, {}).values())

    def means(self) -> list[float]:
        """Over all nets, of the seeds that have all of them."""
        whole = set.intersection(*(set(self.by_anchor.get(anchor, ())) for anchor in ANCHORS))
        return [statistics.fmean(self.by_anchor[anchor][seed] for anchor in ANCHORS) for seed in sorted(whole)]


def less(mine: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
    """The difference of two means with Welch's interval; None where one of them has fewer than two values."""
    if min(len(mine), len(theirs)) < 2:
        return None
    errors = [statistics.variance(values) / len(values) for values in (mine, theirs)]
    freedom = sum(errors) ** 2 / sum(e**2 / (len(v) - 1) for e, v in zip(errors, (mine, theirs), strict=True))
    half = float(stats.t.ppf(0.975, freedom)) * math.sqrt(sum(errors))
    return Estimate(statistics.fmean(mine) - statistics.fmean(theirs), min(len(mine), len(theirs)), half)


def ahead_everywhere(layer: Proof, other: Proof) -> bool | None:
    """None where a net is missing."""
    found = [less(layer.on(anchor), other.on(anchor)) for anchor in ANCHORS]
    return None if None in found else all(each.low > 0 for each in found)


def not_worse(layer: Proof, other: Proof) -> bool | None:
    """Whether the mean over the nets is at most the margin below the other's."""
    found = less(layer.means(), other.means())
    return None if found is None else found.low > -MARGIN


def proofs(measured: Measured, layers: Sequence[str], figure: str) -> list[Proof]:
    return [
        Proof(layer, {anchor: {each.seed: _value(each, figure) for each in found if each.layer == layer}
                      for anchor, found in measured.items()})
        for layer in layers
    ]  # fmt: skip


def _value(measurement: Measurement, figure: str) -> float:
    """In %; what broke learnt nothing."""
    if not isinstance(measurement.outcome, Scores):
        return CHANCE
    last = next(stage for stage in measurement.outcome.stages if stage.name == Test.TRAINING)
    return 100 * last.figures[figure]


def rows(every: Sequence[Proof], anchors: Sequence[str]) -> list[list[str]]:
    base = next((each for each in every if each.layer == BASE), None)
    rival = next((each for each in every if each.layer == RIVAL), None)
    table = []
    for each in every:
        other = base.on if base and each is not base else lambda _: []
        cells = [text for anchor in anchors for text in _cells(each.on(anchor), other(anchor))]
        mean = less(each.means(), rival.means()) if rival and each is not rival else None
        table.append([f"`{each.layer}`", *cells, _interval(mean)])
    return table


def _cells(values: Sequence[float], base: Sequence[float]) -> tuple[str, str]:
    if not values:
        return "-", ""
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.1f}{spread} (n = {len(values)})", _interval(less(values, base))


def _interval(found: Estimate | None) -> str:
    return "" if found is None else f"{found.mean:+.1f} [{found.low:+.1f}, {found.high:+.1f}]"


def verdicts(every: Sequence[Proof]) -> list[str]:
    """What may be said, layer by layer."""
    known = {each.layer: each for each in every}
    words: dict[bool | None, str] = {True: "yes", False: "not shown", None: "not trained on all three nets yet"}
    lines = []
    for each in every:
        if BASE in known and each.layer != BASE:
            lines.append(f"{each.layer}: ahead of {BASE} on all three: {words[ahead_everywhere(each, known[BASE])]}")
        if RIVAL in known and each.layer not in (BASE, RIVAL):
            lines.append(f"{each.layer}: within {MARGIN:g} point of {RIVAL}: {words[not_worse(each, known[RIVAL])]}")
    return lines


def train(chosen: argparse.Namespace, seeds: Sequence[int]) -> Measured:
    """Seed by seed and net by net, so that what is there can be compared."""
    kept = kept_results(scratch(STUDY), lambda line, _: print(line, flush=True))
    measured: Measured = {anchor: [] for anchor in chosen.anchors}
    for seed in seeds:
        for anchor in chosen.anchors:
            recipe = paper_recipe(chosen.mode, anchor, STEPS)
            measured[anchor] += evaluate_layers(
                chosen.layers, recipe, [seed], kept=kept, test_set=True, workers=chosen.workers
            )
    return measured


def look(chosen: argparse.Namespace, seeds: Sequence[int]) -> Measured:
    kept = kept_results(STUDIES / STUDY)
    there = len(list(kept.records()))
    print(f"{there} trainings are kept in {kept.path}; nothing is trained. FRESH=1 trains anew.")
    recipes = {anchor: paper_recipe(chosen.mode, anchor, STEPS) for anchor in chosen.anchors}
    return {
        anchor: kept_measurements(chosen.layers, recipe, seeds, kept, test_set=True)
        for anchor, recipe in recipes.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=["b", "s"], default="b", help="whose recipe: s has a cosine schedule")
    parser.add_argument("--layers", nargs="+", default=list(LAYERS), metavar="LAYER")
    parser.add_argument("--anchors", nargs="+", choices=ANCHORS, default=list(ANCHORS))
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + chosen.seeds)
    measured = train(chosen, seeds) if fresh() else look(chosen, seeds)
    heads = ["layer", *(head for anchor in chosen.anchors for head in (f"{anchor}, %", f"less {BASE}"))]
    for words, figure in FIGURES.items():
        every = proofs(measured, chosen.layers, figure)
        print(f"\nTest pictures, {STEPS} steps: {words}\n")
        print(markdown_table([*heads, f"mean less {RIVAL}"], rows(every, chosen.anchors)))
        print("\n".join(verdicts(every)))


if __name__ == "__main__":
    main()
