"""What is left of random proposals before anything trains, check by check, and what that costs.

python -m studies.free_checks.funnel --proposals 20000 --seed 0
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from evonorm.fitness import reject_by_depth, screen
from evonorm.graph import Graph, sample_graph
from evonorm.journal import DEPTH_CHECKS, FREE_CHECKS
from evonorm.runner import mutant_of_known
from evonorm.search import SearchRecipe

Generator = Callable[[np.random.Generator], Graph]

WARM_UP = 100  # proposals before the clock starts


@dataclass(frozen=True)
class Funnel:
    """How proposals of one generator fared."""

    proposals: int
    rejected: dict[str, int]  # by check
    distinct: int  # functions among the survivors
    shallow: dict[str, int]  # of these, turned down by the depth check, which is asked once a function; by name
    milliseconds: tuple[float, ...]  # of processor time for each proposal, generation included, depth check not
    depth_milliseconds: float  # of the depth check, in all

    @property
    def survivors(self) -> int:
        return self.proposals - sum(self.rejected.values())

    @property
    def worth_training(self) -> int:
        return self.distinct - sum(self.shallow.values())

    @property
    def whole_milliseconds(self) -> float:
        return sum(self.milliseconds) + self.depth_milliseconds


def generators() -> dict[str, Generator]:
    """Who proposes: the paper's generator, and its two mutations of a known layer, once or until it differs."""
    return {
        "paper's generator": sample_graph,
        "mutants of known layers": partial(mutant_of_known, settings=SearchRecipe()),
        "mutants until different": mutant_of_known,
    }


def run_funnel(propose: Generator, proposals: int, seed: int) -> Funnel:
    """Generates and screens this many proposals on one thread."""
    rng = np.random.default_rng(seed)
    for _ in range(min(WARM_UP, proposals)):
        screen(propose(rng))
    reject_by_depth(Graph.parse("x"))
    rejected: Counter[str] = Counter()
    distinct: set[str] = set()
    shallow: Counter[str] = Counter()
    milliseconds = []
    depth_milliseconds = 0.0
    for _ in range(proposals):
        start = time.thread_time()
        graph = propose(rng)
        screened = screen(graph)
        milliseconds.append((time.thread_time() - start) * 1e3)
        if screened.rejected:
            rejected[screened.rejected.test] += 1
        elif screened.fingerprint and screened.fingerprint not in distinct:
            start = time.thread_time()
            deep = reject_by_depth(graph)
            depth_milliseconds += (time.thread_time() - start) * 1e3
            distinct.add(screened.fingerprint)
            if deep:
                shallow[deep.test] += 1
    return Funnel(proposals, dict(rejected), len(distinct), dict(shallow), tuple(milliseconds), depth_milliseconds)


def funnel_table(funnels: dict[str, Funnel]) -> Table:
    """A column per generator; shares of all its proposals."""
    table = Table("", *funnels, title="Before the first training step")

    def add(label: str, cell: Callable[[Funnel], str]) -> None:
        table.add_row(label, *(cell(funnel) for funnel in funnels.values()))

    add("proposals", lambda f: f"{f.proposals}")
    for check in FREE_CHECKS:
        add(f"rejected by {check}", partial(_rejected_share, check))
    add("survivors", lambda f: f"{f.survivors / f.proposals:.1%}")
    add("distinct functions", lambda f: f"{f.distinct} ({f.distinct / f.proposals:.1%})")
    for check in DEPTH_CHECKS:
        add(f"of these rejected by {check}", partial(_shallow_share, check))
    add("ms a proposal, mean", lambda f: f"{np.mean(f.milliseconds):.2f}")
    add("ms a proposal, 99th percentile", lambda f: f"{np.percentile(f.milliseconds, 99):.2f}")
    add("ms a depth check", lambda f: f"{f.depth_milliseconds / max(1, f.distinct):.2f}")
    add("ms a proposal, with it", lambda f: f"{f.whole_milliseconds / f.proposals:.2f}")
    add("ms a function worth training", lambda f: f"{f.whole_milliseconds / max(1, f.worth_training):.1f}")
    return table


def _rejected_share(check: str, funnel: Funnel) -> str:
    return f"{funnel.rejected.get(check, 0) / funnel.proposals:.2%}"


def _shallow_share(check: str, funnel: Funnel) -> str:
    return f"{funnel.shallow.get(check, 0) / max(1, funnel.distinct):.1%}"


def main() -> None:
    """Prints the funnel of every generator."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--proposals", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.proposals < 1:
        parser.error("--proposals must be at least 1.")
    results = {name: run_funnel(propose, arguments.proposals, arguments.seed) for name, propose in generators().items()}
    Console(width=160).print(funnel_table(results))


if __name__ == "__main__":
    main()
