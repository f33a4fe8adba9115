"""Where graphs come from: the paper's generator and mutation, and a variant that wastes less.

A sixth to a third of two-mutation children compute what their parent computes: the mutated node was dead, or nothing
followed from it. Training such a child again tells nothing, so it is drawn anew.
"""

from collections.abc import Callable

import numpy as np

from evonorm.graph import Graph, mutate, mutate_locally, sample_graph
from evonorm.journal import Origin
from evonorm.search.recipe import SearchRecipe


def fresh_graph(settings: SearchRecipe, rng: np.random.Generator) -> Graph:
    return sample_graph(rng, settings.nodes, settings.batch_ops)


def mutated(parent: Graph, rng: np.random.Generator, settings: SearchRecipe) -> tuple[Graph, Origin]:
    """The parent after the recipe's number of mutations (two in the paper), or after a local one."""
    if settings.local_share and rng.random() < settings.local_share:
        return mutate_locally(parent, rng, settings.batch_ops), Origin.LOCAL_MUTATION
    return mutate(parent, rng, settings.batch_ops, settings.mutations), Origin.MUTATION


def new_child(
    parent: Graph, rng: np.random.Generator, settings: SearchRecipe, is_new: Callable[[Graph], bool]
) -> tuple[Graph, Origin]:
    """A child that is something new; after the recipe's attempts the last one, whatever it is."""
    child, origin = mutated(parent, rng, settings)
    for _ in range(settings.attempts - 1):
        if is_new(child):
            break
        child, origin = mutated(parent, rng, settings)
    return child, origin
