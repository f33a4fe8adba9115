"""What each rejection test says of each named layer on each anchor (`evonorm evaluate --verdicts`).

Unlike an evaluation, which stops at the first rejection, this runs every test. Each verdict is written as soon as it
is known, so that an interrupted table goes on where it was.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evonorm.fitness import TESTS, FitnessRecipe, Progress, ProxyTask, number_of_threads
from evonorm.graph import CATALOG
from evonorm.journal import add_record, read_records
from evonorm.runner.settings import settings_to_table
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
    keep: Path,
    watch: Callable[[str, int, Progress], None],
    tests: Sequence[str] = tuple(TESTS),
) -> Iterator[Verdict]:
    """Every verdict, from the file `keep` where it is known; a file of another recipe is refused."""
    keep_freed_memory()
    known = _read(keep, recipe)
    for seed in seeds:
        for anchor in recipe.anchors:
            for layer in layers:
                for test in tests:
                    verdict = known.get((layer, anchor, test, seed))
                    if verdict is None:
                        verdict = _find(layer, anchor, test, recipe, seed, watch)
                        add_record(keep, asdict(verdict))
                    yield verdict


def _find(
    layer: str,
    anchor: str,
    test: str,
    recipe: FitnessRecipe,
    seed: int,
    watch: Callable[[str, int, Progress], None],
) -> Verdict:
    with number_of_threads(recipe.threads):
        task = ProxyTask(layer, anchor, recipe, seed)
        start = time.perf_counter()
        passed, figures = TESTS[test](task, lambda event: watch(layer, seed, event))
    return Verdict(layer, anchor, test, seed, passed, round(time.perf_counter() - start, 2), figures)


def _read(keep: Path, recipe: FitnessRecipe) -> dict[tuple[str, str, str, int], Verdict]:
    header = settings_to_table(recipe)
    first, *records = read_records(keep) or [None]
    if first is None:
        add_record(keep, header)
    elif first != json.loads(json.dumps(header)):
        raise ValueError(f"{keep} was begun under another recipe. Name another file with --keep.")
    verdicts = [Verdict(**record) for record in records]
    return {(each.layer, each.anchor, each.test, each.seed): each for each in verdicts}


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
