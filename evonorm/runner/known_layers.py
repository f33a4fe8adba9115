"""Layers that are known to be good, and mutants of them: what a study compares stages and checks on."""

from functools import cache

import numpy as np

from evonorm.fitness import screen
from evonorm.graph import Graph, graph_of, with_dead_nodes
from evonorm.search import SearchRecipe, new_child

KNOWN_LAYERS = (
    *("bn-relu", "bn-silu", "gn-silu", "rs-rej"),
    *(f"evonorm-{series}{number}" for series in "bs" for number in range(3)),
)
UNTIL_DIFFERENT = SearchRecipe(free_checks=True, attempts=10)


def mutant_of_known(rng: np.random.Generator, settings: SearchRecipe = UNTIL_DIFFERENT) -> Graph:
    """The paper's two mutations of a known layer; drawn again, a few times, while it is the same function."""
    parent, function = _parents()[rng.integers(len(KNOWN_LAYERS))]
    child, _ = new_child(parent, rng, settings, lambda graph: screen(graph).fingerprint != function)
    return child


@cache
def _parents() -> list[tuple[Graph, str | None]]:
    pool = np.random.default_rng(0)
    return [(with_dead_nodes(graph_of(name), pool), screen(graph_of(name)).fingerprint) for name in KNOWN_LAYERS]
