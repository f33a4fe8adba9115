"""The paper's mutation (section "Evolution"): a node, a new primitive for it, new predecessors for it."""

import numpy as np

from evonorm.graph.graph import INITIAL_NODES, Graph
from evonorm.graph.sampling import sample_node


def mutate(graph: Graph, rng: np.random.Generator, batch_ops: bool = True) -> Graph:
    """A copy with one intermediate node drawn anew. Dead nodes count too; the new primitive may equal the old one."""
    chosen = int(rng.integers(len(graph.nodes)))
    node = sample_node(rng, len(INITIAL_NODES) + chosen, batch_ops)
    return Graph((*graph.nodes[:chosen], node, *graph.nodes[chosen + 1 :]))
