"""Where graphs come from: the paper's generator and mutation, and a variant that wastes less.

A sixth to a third of two-mutation children compute what their parent computes: the mutated node was dead, or nothing
followed from it. Training such a child again tells nothing, so it is drawn anew.
"""

import numpy as np

from evonorm.graph import Graph, mutate, sample_graph
from evonorm.search.recipe import SearchRecipe
from evonorm.search.screening import Screen


def fresh_graph(settings: SearchRecipe, rng: np.random.Generator) -> Graph:
    return sample_graph(rng, settings.nodes, settings.batch_ops)


def mutated(parent: Graph, rng: np.random.Generator, settings: SearchRecipe) -> Graph:
    """The parent after the recipe's number of mutations (two in the paper)."""
    for _ in range(settings.mutations):
        parent = mutate(parent, rng, settings.batch_ops)
    return parent


def different_child(
    parent: Graph,
    function: str | None,
    rng: np.random.Generator,
    settings: SearchRecipe,
    screen: Screen,
) -> Graph:
    """A child that is not its parent's `function`; after the recipe's attempts the last one, whatever it is."""
    child = mutated(parent, rng, settings)
    for _ in range(settings.attempts - 1):
        if screen(child).fingerprint != function:
            break
        child = mutated(parent, rng, settings)
    return child
