"""How long the steps of the stability test's ascent should be, which the paper leaves open.

    python -m studies.stability_steps.study choose             # half of the catalog under several step sizes
    python -m studies.stability_steps.study report --seeds 2   # the other half and random layers under the recipe's own
    python -m studies.stability_steps.study agree              # the exact direction against differences of gradients

These show what is kept; with FRESH=1 they train and go on where they were stopped. The layers of the catalog, as it was
then, are halved by their place in it, every second one.
"""

import argparse
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from evonorm.fitness import FitnessRecipe
from evonorm.pictures import markdown_table
from evonorm.runner import (
    Verdict,
    find_verdicts,
    random_survivors,
    read_fitness_recipe,
)
from studies.kept_or_fresh import results

LAYERS = (  # the catalog without its top-10 lists when the study was made
    *("bn-relu", "bn-silu", "gn-relu", "gn-silu", "frn", "ln-relu", "pixelnorm-relu", "random", "random-rej", "rs-rej"),
    *("evonorm-b0", "evonorm-b1", "evonorm-b2", "evonorm-s0", "evonorm-s1", "evonorm-s2"),
    *("b0-no-v1x", "b0-no-local", "b0-no-global", "b0-add"),
)
COLLAPSING = ("b0-no-global", "b0-add")  # in the catalog; the paper saw them diverge
BARE = ("max(x, 0)", "exp(x)", "square(x)", "x * sigmoid(x)")  # activations without a normalization
STEP_SIZES = (0.03, 0.1, 0.3)
SURVIVORS = 20
COMPARED = ("bn-relu", "gn-silu", "frn", "evonorm-b0", "evonorm-b2", "evonorm-s0", "b0-no-global", "max(x, 0)")
COMPARED_STEPS = 10

console = Console(width=160, highlight=False)


@dataclass(frozen=True)
class Variant:
    """One way to run the test, and on which layers."""

    name: str
    recipe: FitnessRecipe
    layers: tuple[str, ...]
    seeds: tuple[int, ...]

    def verdicts(self) -> Iterator[Verdict]:
        kept = results("stability_steps")
        return find_verdicts(self.layers, self.recipe, self.seeds, kept, lambda *_: None, ("stability",))


def half_of_catalog(number: int) -> tuple[str, ...]:
    """Half 0 is for choosing, half 1 for reporting; each with its share of what should be rejected."""
    return (*LAYERS[number::2], *BARE[number::2])


def variants(what: str, recipe: FitnessRecipe, seeds: int) -> list[Variant]:
    every = tuple(range(seeds))

    def under(**changes: object) -> FitnessRecipe:
        return replace(recipe, stability=replace(recipe.stability, **changes))  # type: ignore[arg-type]

    if what == "choose":
        return [Variant(f"step {size}", under(step_size=size), half_of_catalog(0), every) for size in STEP_SIZES]
    if what == "report":
        random = tuple(random_survivors(SURVIVORS, seed=1))
        return [Variant("catalog", recipe, half_of_catalog(1), every), Variant("random", recipe, random, every)]
    ways = [under(direction=way, steps=COMPARED_STEPS) for way in ("differences", "exact")]
    return [Variant(each.stability.direction, each, COMPARED, every) for each in ways]


def should_be_rejected(layer: str) -> bool:
    return layer in COLLAPSING or layer in BARE


def rows_of(verdicts: Sequence[Verdict], anchors: Sequence[str]) -> list[list[str]]:
    """A row per layer: on each anchor the largest norm over seeds, or in how many of them and when it was rejected."""
    rows = []
    for layer in dict.fromkeys(each.layer for each in verdicts):
        found = [[v for v in verdicts if (v.layer, v.anchor) == (layer, anchor)] for anchor in anchors]
        rows.append([layer, *map(_cell, found)])
    return rows


def _cell(verdicts: Sequence[Verdict]) -> str:
    rejected = [each for each in verdicts if not each.passed]
    if rejected:
        steps = ", ".join(str(each.figures["step"]) for each in rejected)
        return f"rejected {len(rejected)} of {len(verdicts)}, step {steps}"
    return f"{max((each.figures['gradient_norm'] for each in verdicts), default=float('nan')):.1e}"


def summary(verdicts: Sequence[Verdict]) -> str:
    """What matters of one variant: false alarms, how near the others came to the limit, what it missed, and when."""
    bad = [each for each in verdicts if should_be_rejected(each.layer)]
    good = [each for each in verdicts if not should_be_rejected(each.layer)]
    caught = [each.figures["step"] for each in bad if not each.passed]
    passed = [each.figures["gradient_norm"] for each in good if each.passed]
    seconds = [each.seconds for each in verdicts if each.passed]
    parts = [f"rejects {sum(not each.passed for each in good)} of {len(good)} others"]
    parts += [f"whose largest norm is {max(passed):.1e}"] if passed else []
    parts += [f"and {len(caught)} of {len(bad)} that should be"] if bad else []
    parts += [f"after at most {max(caught)} steps (median {statistics.median(caught):g})"] if caught else []
    parts += [f"({statistics.median(seconds):.0f} s for one that passes)"] if seconds else []
    return " ".join(parts)


def disagreements(one: Sequence[Verdict], other: Sequence[Verdict]) -> list[str]:
    """Cases, layer on anchor, of different verdicts."""
    pairs = zip(one, other, strict=True)
    return [f"{a.layer} on {a.anchor}, seed {a.seed}" for a, b in pairs if a.passed != b.passed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["choose", "report", "agree"])
    parser.add_argument("--recipe", type=Path, default=Path("recipes/paper_b.toml"), help="its anchors and test")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    chosen = parser.parse_args()
    recipe = read_fitness_recipe(chosen.recipe, ["fitness.threads=1"])
    found = []
    for variant in variants(chosen.what, recipe, chosen.seeds):
        found.append(list(variant.verdicts()))
        table = markdown_table(["layer", *recipe.anchors], rows_of(found[-1], recipe.anchors))
        console.print(f"\n{variant.name}: {summary(found[-1])}\n\n{table}", markup=False, soft_wrap=True)
    if chosen.what == "agree":
        apart = disagreements(*found)
        console.print(f"different verdicts: {len(apart)} of {len(found[0])} {apart or ''}", markup=False)


if __name__ == "__main__":
    main()
