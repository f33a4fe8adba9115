"""The paper's mutation (section "Evolution"): a node, a new primitive for it, new predecessors for it. And a local one.

Most children of the paper's mutation are their parent again (the node was dead) or a stranger (all inputs of a live
node are new). The local one changes one thing about one live node.
"""

from collections.abc import Callable

import numpy as np

from evonorm.graph.graph import INITIAL_NODES, Graph, Node
from evonorm.graph.sampling import sample_node, sample_primitive, with_dead_nodes


def mutate(graph: Graph, rng: np.random.Generator, batch_ops: bool = True, times: int = 1) -> Graph:
    """A copy with one intermediate node drawn anew, some `times` over (the paper's mutation).

    Dead nodes count too; the new primitive may equal the old one.

    Arguments:
        graph: the parent, which stays as it is.
        rng: numpy's generator; the same state gives the same child.
        batch_ops: False draws no moment over the batch (the S series).
        times: how many mutations one after the other; the paper's evolution takes two.

    Example:
        child = evonorm.mutate(evonorm.graph_of("evonorm-b0"), np.random.default_rng(0), times=2)
        assert isinstance(child, evonorm.Graph)
    """
    nodes = list(graph.nodes)
    for _ in range(times):
        chosen = int(rng.integers(len(nodes)))
        nodes[chosen] = sample_node(rng, len(INITIAL_NODES) + chosen, batch_ops)
    return Graph(tuple(nodes))


def mutate_locally(graph: Graph, rng: np.random.Generator, batch_ops: bool = True) -> Graph:
    """A copy with one change at a live node; as many nodes as before, dead ones filled in or left out. Not the paper's.

    The node gets another primitive of its arity, or another input, or a new node on one of its inputs, or it is taken
    out. What cannot be done to this graph (a full one does not grow) is drawn anew.
    """
    size = len(graph.nodes)
    while True:
        change = LOCAL_CHANGES[rng.integers(len(LOCAL_CHANGES))]
        number, _ = graph.live_nodes[rng.integers(len(graph.live_nodes))]
        changed = change(graph, number, rng, batch_ops)
        if changed is not None and changed != graph:
            return with_dead_nodes(changed, rng, size, batch_ops)


def _swap(graph: Graph, number: int, rng: np.random.Generator, batch_ops: bool) -> Graph:
    """Another primitive of the same arity, with the same inputs."""
    old = graph.node(number)
    primitive = sample_primitive(rng, batch_ops)
    while primitive.arity != len(old.inputs):
        primitive = sample_primitive(rng, batch_ops)
    return _with(graph, number, Node(primitive.name, old.inputs))


def _rewire(graph: Graph, number: int, rng: np.random.Generator, batch_ops: bool) -> Graph:  # noqa: ARG001 (one face)
    """Another of the earlier nodes for one input."""
    old = graph.node(number)
    inputs = list(old.inputs)
    inputs[rng.integers(len(inputs))] = int(rng.integers(number))
    return _with(graph, number, Node(old.op, tuple(inputs)))


def _insert(graph: Graph, number: int, rng: np.random.Generator, batch_ops: bool) -> Graph | None:
    """A new node between this one and one of its inputs, in place of a dead one; None where there is none."""
    dead = sorted(set(_numbers(graph)) - {live for live, _ in graph.live_nodes})
    if not dead:
        return None
    old = graph.node(number)
    place = int(rng.integers(len(old.inputs)))
    primitive = sample_primitive(rng, batch_ops)
    others = (int(rng.integers(number)) for _ in range(primitive.arity - 1))
    added = Node(primitive.name, (old.inputs[place], *others))
    wider = _renumbered(graph.nodes, lambda each: each + (each >= number))
    at = number - len(INITIAL_NODES)
    inputs = tuple(number if i == place else source for i, source in enumerate(old.inputs))
    grown = Graph((*wider[:at], added, Node(old.op, inputs), *wider[at + 1 :]))
    gone = dead[rng.integers(len(dead))]
    return _without(grown, gone + (gone >= number))


def _take_out(graph: Graph, number: int, rng: np.random.Generator, batch_ops: bool) -> Graph | None:  # noqa: ARG001
    """Its readers read one of its inputs instead; None where the output would be none of the intermediate nodes."""
    inputs = graph.node(number).inputs
    source = int(inputs[rng.integers(len(inputs))])
    if number == graph.output:
        kept = graph.nodes[: source - len(INITIAL_NODES) + 1]
        return Graph(kept) if source >= len(INITIAL_NODES) else None
    bridged = _renumbered(graph.nodes, lambda each: source if each == number else each)
    return _without(Graph(bridged), number)


LOCAL_CHANGES = (_swap, _rewire, _insert, _take_out)


def _with(graph: Graph, number: int, node: Node) -> Graph:
    at = number - len(INITIAL_NODES)
    return Graph((*graph.nodes[:at], node, *graph.nodes[at + 1 :]))


def _without(graph: Graph, number: int) -> Graph:
    """A graph that nobody reads this node of, without it; dead readers read x."""
    at = number - len(INITIAL_NODES)
    left = (*graph.nodes[:at], *graph.nodes[at + 1 :])
    return Graph(_renumbered(left, lambda each: 0 if each == number else each - (each > number)))


def _renumbered(nodes: tuple[Node, ...], rename: Callable[[int], int]) -> tuple[Node, ...]:
    return tuple(Node(node.op, tuple(rename(each) for each in node.inputs)) for node in nodes)


def _numbers(graph: Graph) -> range:
    return range(len(INITIAL_NODES), len(INITIAL_NODES) + len(graph.nodes))
