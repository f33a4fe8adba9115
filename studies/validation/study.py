"""Are the layers that the searches found any good on the paper's own anchors, on test pictures that no search has seen?

    python -m studies.validation.study              # what is kept
    FRESH=1 python -m studies.validation.study      # trains anew, about six hours of two cores; goes on after a stop

The top 3 of each mode, judged again by `studies.rerank`, beside BN-ReLU and the paper's B0 and S0: 400 steps, two
seeds; then 2000 steps for the best of each. S layers by the paper's S recipe (cosine), scaled to the steps.

A difference has a 95 % interval by Student's t: the spread over seeds is pooled over all layers of the same recipe on
the same anchor, since two seeds of one layer say next to nothing about it.
"""

import argparse
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy import stats

from evonorm.fitness import FitnessRecipe
from evonorm.graph import CATALOG
from evonorm.journal import Rejected
from evonorm.pictures import Figure, markdown_table, write_figures
from evonorm.report import curves_of_layers
from evonorm.runner import Measurement, evaluate_layers, read_fitness_recipe
from studies.kept_or_fresh import results, scratch
from studies.rerank.study import judged_again, tell

REFERENCES = ("bn-relu", "evonorm-b0", "gn-silu", "evonorm-s0")
CONFIDENCE = 0.95
# Nobody is turned down for learning slowly, and what costs time but says nothing here is short.
SHORT = ("fitness.quality.accuracy=0", "fitness.stability.steps=10", "fitness.validation_images=2000")

Accuracies = dict[str, dict[str, list[float]]]  # of a layer on an anchor, a value a seed


@dataclass(frozen=True)
class Comparison:
    """Layers under one recipe."""

    title: str
    layers: tuple[str, ...]
    recipe: FitnessRecipe
    seeds: int

    def measured(self, workers: int) -> list[Measurement]:
        return evaluate_layers(
            self.layers,
            self.recipe,
            range(self.seeds),
            watch=tell,
            kept=results("validation"),
            test_set=True,
            workers=workers,
        )


def recipe_of(mode: str, steps: int, changes: Sequence[str] = ()) -> FitnessRecipe:
    """The paper's recipe of a mode, cut to so many steps; one thread, so that two workers share the machine."""
    always = (f"fitness.training.steps={steps}", "fitness.threads=1")
    return read_fitness_recipe(Path(f"recipes/paper_{mode}.toml"), (*always, *changes))


def first_round(mode: str, references: Sequence[str]) -> Comparison:
    found = judged_again(f"{mode}-evolution").formulas[:3]
    return Comparison(f"{mode.upper()} mode, 400 steps", (*references, *found), recipe_of(mode, 400, SHORT), 2)


def second_round(mode: str, layers: Sequence[str], seeds: int) -> Comparison:
    return Comparison(f"{mode.upper()} mode, 2000 steps", tuple(layers), recipe_of(mode, 2000), seeds)


def accuracies_of(measured: Sequence[Measurement], figure: str = "test_accuracy") -> Accuracies:
    """In %, of all that came to the end."""
    found: Accuracies = defaultdict(lambda: defaultdict(list))
    for each in measured:
        for stage in each.outcome.stages:
            if stage.name == "training" and figure in stage.figures:
                found[each.layer][stage.anchor].append(100 * stage.figures[figure])
    return found


def best_found(measured: Sequence[Measurement]) -> str:
    """The layer without a name that is best on the validation pictures; test pictures choose nothing."""
    found = accuracies_of([each for each in measured if each.layer not in CATALOG], "accuracy")
    anchors = {anchor for on in found.values() for anchor in on}
    return max(found, key=lambda layer: sum(statistics.fmean(found[layer][anchor] or [0.0]) for anchor in anchors))


def pooled_spread(samples: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The standard deviation within samples and its degrees of freedom; (0, 0) where every sample is one value."""
    freedom = sum(len(each) - 1 for each in samples)
    squares = sum(statistics.variance(each) * (len(each) - 1) for each in samples if len(each) > 1)
    return ((squares / freedom) ** 0.5, freedom) if freedom else (0.0, 0)


def spreads_of(found: Accuracies, anchors: Sequence[str]) -> dict[str, tuple[float, int]]:
    return {anchor: pooled_spread([on[anchor] for on in found.values() if on[anchor]]) for anchor in anchors}


def difference(ours: Sequence[float], theirs: Sequence[float], spread: float, freedom: int) -> str:
    if not ours or not theirs:
        return "-"
    value = statistics.fmean(ours) - statistics.fmean(theirs)
    if not freedom:
        return f"{value:+.1f}"
    half = stats.t.ppf(0.5 + CONFIDENCE / 2, freedom) * spread * (1 / len(ours) + 1 / len(theirs)) ** 0.5
    return f"{value:+.1f} [{value - half:+.1f}, {value + half:+.1f}]"


def rows(found: Accuracies, anchors: Sequence[str]) -> list[list[str]]:
    """A row a layer, references first: mean and number of seeds on each anchor; then its differences to references."""
    spreads = spreads_of(found, anchors)
    table = []
    for layer, on in sorted(found.items(), key=lambda each: (each[0] not in REFERENCES, each[0])):
        table.append([f"`{layer}`", "test %", *(_mean(on[anchor]) for anchor in anchors)])
        table += [
            ["", f"less {name}", *(difference(on[a], found[name][a], *spreads[a]) for a in anchors)]
            for name in REFERENCES
            if name in found and name != layer
        ]
    return table


def _mean(values: Sequence[float]) -> str:
    return f"**{statistics.fmean(values):.1f}** (n = {len(values)})" if values else "-"


def not_finished(measured: Sequence[Measurement]) -> list[str]:
    """Who was turned down on the way, and by what."""
    return [
        f"{each.layer}, seed {each.seed}: {each.outcome.test} on {each.outcome.anchor}"
        for each in measured
        if isinstance(each.outcome, Rejected)
    ]


def show(title: str, measured: Sequence[Measurement], anchors: Sequence[str]) -> None:
    found = accuracies_of(measured)
    minutes = sum(stage.seconds for each in measured for stage in each.outcome.stages) / 60
    print(f"\n## {title} ({minutes:.0f} minutes)\n")
    print(markdown_table(["layer", "", *anchors], rows(found, anchors)))
    spreads = spreads_of(found, anchors)
    said = [f"{anchor} {spread:.2f} ({freedom})" for anchor, (spread, freedom) in spreads.items() if freedom]
    print("Spread over seeds, pooled (degrees of freedom): " + (", ".join(said) or "one seed each") + "\n")
    print("\n".join(not_finished(measured)))


def curves(measured: Sequence[Measurement], layers: Sequence[str]) -> list[Figure]:
    return curves_of_layers({layer: [each.outcome for each in measured if each.layer == layer] for layer in layers})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    workers = parser.parse_args().workers
    for mode, references in (("b", ("bn-relu", "evonorm-b0")), ("s", ("evonorm-s0",))):
        first = first_round(mode, references)
        measured = first.measured(workers)
        show(first.title, measured, first.recipe.anchors)
        best = best_found(measured)
        second = second_round(
            mode, ("bn-relu", best, "evonorm-b0") if mode == "b" else (best,), 2 if mode == "b" else 1
        )
        again = second.measured(workers)
        show(second.title, again, second.recipe.anchors)
        write_figures(curves(again, second.layers), scratch("validation") / mode)


if __name__ == "__main__":
    main()
