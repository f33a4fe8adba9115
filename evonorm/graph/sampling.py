"""Random graphs, node by node (paper, section "Search Space", "Random Graph Generation")."""

import numpy as np

from evonorm.graph.draws import Below, quick_draws
from evonorm.graph.graph import INITIAL_NODES, PAPER_NODES, Graph, Node
from evonorm.graph.primitive import Primitive
from evonorm.graph.primitives import searched_rows

Rows = tuple[tuple[Primitive, ...], ...]


def sample_graph(rng: np.random.Generator, nodes: int = PAPER_NODES, batch_ops: bool = True) -> Graph:
    """A random graph of the paper's generator.

    Arguments:
        rng: numpy's generator; the same state gives the same graph.
        nodes: how many intermediate nodes; most of them will be dead, since the output does not reach them.
        batch_ops: False draws no moment over the batch (the S series).

    Example: graph = evonorm.sample_graph(np.random.default_rng(0))
    """
    first, rows = len(INITIAL_NODES), searched_rows(batch_ops)
    with quick_draws(rng) as below:
        return Graph(tuple([_sample_node(below, first + i, rows) for i in range(nodes)]))


def sample_node(rng: np.random.Generator, number: int, batch_ops: bool = True) -> Node:
    """A random node at this place of a graph: its primitive and its predecessors among the earlier nodes."""
    return _sample_node(rng.integers, number, searched_rows(batch_ops))


def _sample_node(below: Below, number: int, rows: Rows) -> Node:
    primitive = _sample_primitive(below, rows)
    return Node(primitive.name, tuple([int(below(number)) for _ in range(primitive.arity)]))


def with_dead_nodes(graph: Graph, rng: np.random.Generator, nodes: int = PAPER_NODES, batch_ops: bool = True) -> Graph:
    """The same function as a search would carry it: filled up to this many nodes with random dead ones in front."""
    missing = max(0, nodes - len(graph.nodes))
    first = len(INITIAL_NODES)
    dead = [sample_node(rng, first + i, batch_ops) for i in range(missing)]
    moved = [Node(node.op, tuple(i if i < first else i + missing for i in node.inputs)) for node in graph.nodes]
    return Graph((*dead, *moved))


def sample_primitive(rng: np.random.Generator, batch_ops: bool = True) -> Primitive:
    """A row of the table uniformly, then the index set uniformly: an element-wise op is as likely as a whole moment."""
    return _sample_primitive(rng.integers, searched_rows(batch_ops))


def _sample_primitive(below: Below, rows: Rows) -> Primitive:
    row = rows[below(len(rows))]
    return row[below(len(row))]
