"""Children that do something else than their parent: the paper's mutation, drawn anew while nothing has changed.

A sixth to a third of two-mutation children compute what their parent computes: the mutated node was dead, or nothing
followed from it. Training such a child again tells nothing.
"""

from collections.abc import Callable

import numpy as np

from evonorm.graph import Graph, mutate

Fingerprint = Callable[[Graph], str]


def mutated(parent: Graph, rng: np.random.Generator, mutations: int, batch_ops: bool = True) -> Graph:
    """The parent after this many of the paper's mutations."""
    for _ in range(mutations):
        parent = mutate(parent, rng, batch_ops)
    return parent


def different_child(
    parent: Graph,
    rng: np.random.Generator,
    mutations: int,
    attempts: int,
    fingerprint: Fingerprint,
    batch_ops: bool = True,
) -> Graph:
    """A child whose fingerprint is not its parent's; after `attempts` draws the last one, whatever it is."""
    unwanted = fingerprint(parent)
    child = mutated(parent, rng, mutations, batch_ops)
    for _ in range(attempts - 1):
        if fingerprint(child) != unwanted:
            break
        child = mutated(parent, rng, mutations, batch_ops)
    return child
