"""How a search may begin: with every small expression that survives the checks. Not in the paper."""

from collections.abc import Callable

import numpy as np

from evonorm.graph import Graph, small_graphs
from evonorm.search.proposals import Fingerprint

ENUMERATED = "enumerated"  # the origin of such a proposal


def small_survivors(
    size: int, batch_ops: bool, passes: Callable[[Graph], bool], fingerprint: Fingerprint, seed: int
) -> list[Graph]:
    """Expressions of up to `size` nodes, each function once, small ones first and those of a size in random order.

    A function is found in its smallest form; two nodes are about 670 functions and a second, three tens of thousands.
    """
    rng = np.random.default_rng(seed)
    seen: set[str | None] = set()
    found: list[Graph] = []
    for nodes in range(size + 1):
        graphs = []
        for graph in small_graphs(nodes, batch_ops):
            function = fingerprint(graph) if passes(graph) else None
            if function is not None and function not in seen:
                seen.add(function)
                graphs.append(graph)
        found += [graphs[i] for i in rng.permutation(len(graphs))]
    return found
