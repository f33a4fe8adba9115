"""New targets for the proxy (experiment E3): 400 steps on the paper's anchors, judged by averaged weights, three seeds.

    python -m studies.clipping.targets             # what is kept
    FRESH=1 python -m studies.clipping.targets     # trains anew; goes on where it was stopped

The first round's targets are one training each and its last step, which at a constant rate is jitter, and harder on
layers that subtract no mean. The same training gives both figures here: the last step, as the paper has it, and the
average of the weights (decay 0.99) with moments estimated anew over 16 batches.

Written down when one seed of the layers had been seen: the laptop recipe averages its weights too if that score (E1,
clipped) agrees with the new targets' means by averaged weights at least as well as the score by the last step does.
"""

import argparse
import statistics

import numpy as np

from evonorm.foundation import estimate
from evonorm.journal import Scores, Test
from evonorm.pictures import markdown_table
from evonorm.runner import Measurement, correlate, evaluate_layers, kept_measurements, kept_results
from studies.clipping.study import FOUND, JUDGES, SEEDS, SPREADS, jobs, reliability, scores
from studies.kept_or_fresh import STUDIES, fresh, scratch
from studies.proof.study import paper_recipe

LAYERS = ("bn-relu", "bn-silu", "evonorm-b0", "evonorm-b2", "evonorm-s0", *FOUND)
STEPS = 400
FIGURES = {"last step": "last_accuracy", "averaged weights": "accuracy"}


def values(measured: list[Measurement], layer: str, anchor: str, figure: str) -> dict[int, float]:
    """In %, by seed; what broke learnt nothing."""
    found = {}
    for each in measured:
        if each.layer == layer:
            stages = each.outcome.stages if isinstance(each.outcome, Scores) else ()
            last = [stage.figures for stage in stages if stage.name == Test.TRAINING and stage.anchor == anchor]
            found[each.seed] = 100 * last[0][figure] if last else 10.0
    return found


def rows(measured: list[Measurement], anchor: str) -> list[list[str]]:
    """Each layer by both figures: the mean and spread over seeds, and what it is less BN-ReLU's, paired."""
    table = []
    for layer in LAYERS:
        row = [f"`{layer}`"]
        for figure in FIGURES.values():
            mine, theirs = (values(measured, each, anchor, figure) for each in (layer, "bn-relu"))
            common = sorted(mine.keys() & theirs.keys())
            row.append(f"{statistics.fmean(mine.values()):.1f} (n = {len(mine)})" if mine else "-")
            less = estimate([mine[seed] - theirs[seed] for seed in common]) if len(common) > 1 else None
            row.append(f"{less.mean:+.1f} [{less.low:+.1f}, {less.high:+.1f}]" if less and layer != "bn-relu" else "")
        table.append(row)
    return table


def spread_rows(measured: list[Measurement], anchor: str) -> list[list[str]]:
    """Of each figure, how much of one training is the layer; over the layers that have all seeds."""
    table = []
    for name, figure in FIGURES.items():
        found = [list(values(measured, layer, anchor, figure).values()) for layer in LAYERS]
        most = max(map(len, found))
        whole = np.array([each for each in found if len(each) == most])
        if most > 1 and len(whole) > 1:
            table.append([anchor, name, str(len(whole)), str(most), *reliability(whole)])
    return table


def agreement_rows(measured: dict[str, list[Measurement]]) -> list[list[str]]:
    """Spearman of E1's clipped scores, as they are kept, with the new targets: both means over seeds and nets."""
    kept = kept_results(STUDIES / "clipping")
    cheap = {job: kept.find(job.question()) or {} for job in jobs([1.0])}
    table = []
    for judge in JUDGES:
        row = [judge]
        for figure in FIGURES.values():
            target = targets_by(measured, figure)
            by_seed = [scores(cheap, judge, 1.0, seed, list(target)) for seed in SEEDS]
            means = [statistics.fmean(each) for each in zip(*by_seed, strict=True)]
            row.append(str(correlate(means, list(target.values()), np.random.default_rng(0))))
        table.append(row)
    return table


def targets_by(measured: dict[str, list[Measurement]], figure: str) -> dict[str, float]:
    """The mean over nets of the means over seeds, of the layers that were trained on all nets."""
    found = {layer: [values(each, layer, anchor, figure) for anchor, each in measured.items()] for layer in LAYERS}
    return {
        layer: statistics.fmean(statistics.fmean(seeds.values()) for seeds in nets)
        for layer, nets in found.items() if all(nets)
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--anchors", nargs="+", default=["mobilenetv2-cifar", "resnet50-cifar"])
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    kept = kept_results(scratch("clipping") if fresh() else STUDIES / "clipping", lambda line, _: print(line))
    if not fresh():
        print(f"What is kept in {kept.path}; nothing is trained. FRESH=1 trains anew.")
    measured: dict[str, list[Measurement]] = {anchor: [] for anchor in chosen.anchors}
    for seed in range(chosen.seeds):  # seed by seed and net by net, so that what is there can be compared
        for anchor in chosen.anchors:
            asked = (LAYERS, paper_recipe("b", anchor, STEPS), [seed])
            measured[anchor] += (
                evaluate_layers(*asked, kept=kept, workers=chosen.workers)
                if fresh()
                else kept_measurements(*asked, kept)
            )
    heads = ["layer", *(head for name in FIGURES for head in (f"{name}, %", "less BN-ReLU"))]
    for anchor, found in measured.items():
        print(f"\n{anchor}, {STEPS} steps, validation pictures\n")
        print(markdown_table(heads, rows(found, anchor)))
    print("\nHow much of one training is the layer; spreads in points\n")
    spreads = [row for anchor, found in measured.items() for row in spread_rows(found, anchor)]
    print(markdown_table(["net", "figure", "layers", "seeds", *SPREADS], spreads))
    print(f"\nSpearman of E1's scores (150 steps, clipped) with these over {len(LAYERS)} layers\n")
    print(markdown_table(["score", *FIGURES], agreement_rows(measured)))


if __name__ == "__main__":
    main()
