"""What each rejection test says of each named layer on each anchor (`evonorm evaluate --verdicts`).

Unlike an evaluation, which stops at the first rejection, this runs every test. Each verdict is kept as soon as it is
known, so that an interrupted table goes on where it was.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evonorm.fitness import (
    TESTS,
    FitnessRecipe,
    Progress,
    ProxyTask,
    QualityRecipe,
    StabilityRecipe,
    number_of_threads,
)
from evonorm.graph import CATALOG
from evonorm.journal import KeptResults, Question
from evonorm.runner.settings import changed_settings
from evonorm.training import keep_freed_memory


@dataclass(frozen=True)
class Verdict:
    """One test of one layer on one anchor."""

    layer: str
    anchor: str
    test: str
    seed: int
    passed: bool
    seconds: float
    figures: dict[str, Any]

    def __str__(self) -> str:
        mark = "pass" if self.passed else "FAIL"
        if "accuracy" in self.figures:
            return f"{mark} {100 * self.figures['accuracy']:.1f} %"
        if "gradient_norm" not in self.figures:
            return f"{mark} loss not finite, step {self.figures['step']}"
        norm = f"{self.figures['gradient_norm']:.1e}" if self.figures["finite"] else "not finite"
        return f"{mark} {norm}, step {self.figures['step']}"


def distinct_layers() -> list[str]:
    """The catalog without the appendix' top-10 lists, which repeat the named layers and are near to them."""
    return [name for name in CATALOG if "-top" not in name]


def find_verdicts(
    layers: Sequence[str],
    recipe: FitnessRecipe,
    seeds: Sequence[int],
    kept: KeptResults,
    watch: Callable[[str, int, Progress], None],
    tests: Sequence[str] = tuple(TESTS),
) -> Iterator[Verdict]:
    """Every verdict, kept or new; anchor by anchor, so that a stopped table has whole columns."""
    keep_freed_memory()
    cases = [
        (layer, anchor, test, seed) for seed in seeds for anchor in recipe.anchors for layer in layers for test in tests
    ]
    kept.expect([verdict_question(*case, recipe) for case in cases], "verdicts")
    for layer, anchor, test, seed in cases:
        question = verdict_question(layer, anchor, test, seed, recipe)
        answer = kept.find(question)
        if answer is None:
            answer = _find(layer, anchor, test, recipe, seed, watch)
            kept.keep(question, answer)
        yield Verdict(layer, anchor, test, seed, **answer)


def verdict_question(layer: str, anchor: str, test: str, seed: int, recipe: FitnessRecipe) -> Question:
    """What decides a verdict: neither the recipe's other anchors nor its ladder nor the other test."""
    own = replace(recipe, anchors=(anchor,), ladder=())
    own = replace(own, quality=QualityRecipe(steps=1)) if test != "quality" else own
    own = replace(own, stability=StabilityRecipe()) if test != "stability" else own
    return {"what": "verdict", "layer": layer, "test": test, "seed": seed, "recipe": changed_settings(own)}


def _find(
    layer: str,
    anchor: str,
    test: str,
    recipe: FitnessRecipe,
    seed: int,
    watch: Callable[[str, int, Progress], None],
) -> dict[str, Any]:
    with number_of_threads(recipe.threads):
        task = ProxyTask(layer, anchor, recipe, seed)
        start = time.perf_counter()
        passed, figures = TESTS[test](task, lambda event: watch(layer, seed, event))
    return {"passed": passed, "seconds": round(time.perf_counter() - start, 2), "figures": figures}


def verdict_rows(verdicts: Sequence[Verdict], anchors: Sequence[str]) -> list[list[str]]:
    """A row per layer: every test on every anchor, of the seeds in turn."""
    rows = []
    for layer in dict.fromkeys(each.layer for each in verdicts):
        row = [layer]
        for anchor in anchors:
            for test in TESTS:
                wanted = (layer, anchor, test)
                found = [str(each) for each in verdicts if (each.layer, each.anchor, each.test) == wanted]
                row.append("; ".join(found) or "-")
        rows.append(row)
    return rows
