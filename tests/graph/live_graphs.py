"""Random graphs that let x through to the output, for tests that want much of a graph to be alive.

Two thirds of what the paper's generator draws never read x, and a typical graph has two live nodes of ten. Here the
number of live nodes is drawn first, each of them is connected, and one path of element-wise nodes leads from x to the
output. The other nodes are the paper's random ones: dead, but part of the genotype.
"""

import numpy as np

from evonorm.graph.graph import INITIAL_NODES, PAPER_NODES, Graph, Node, X
from evonorm.graph.primitive import Primitive
from evonorm.graph.sampling import sample_node, sample_primitive

FEWEST_LIVE = 2


def sample_live_graph(rng: np.random.Generator, nodes: int = PAPER_NODES, batch_ops: bool = True) -> Graph:
    """A random graph with 2 to `nodes` live nodes, each number equally likely, whose output varies with every x."""
    first, last = len(INITIAL_NODES), len(INITIAL_NODES) + nodes - 1
    wanted = int(rng.integers(min(FEWEST_LIVE, nodes), nodes + 1))
    others = rng.choice(np.arange(first, last), size=wanted - 1, replace=False)
    connected = _connect(rng, [*sorted(map(int, others)), last], batch_ops)
    return Graph(tuple(connected.get(n) or sample_node(rng, n, batch_ops) for n in range(first, last + 1)))


def _connect(rng: np.random.Generator, live: list[int], batch_ops: bool) -> dict[int, Node]:
    """Random nodes at these places, from the output backwards, so that each is read by a later one."""
    found: dict[int, Node] = {}
    on_path = live[-1]  # the node of the path from x to the output that comes next
    for place in range(len(live) - 1, -1, -1):
        number = live[place]
        earlier = [*range(len(INITIAL_NODES)), *live[:place]]
        primitive = sample_primitive(rng, batch_ops)
        while number == on_path and primitive.aggregates:
            primitive = sample_primitive(rng, batch_ops)
        inputs = _inputs(rng, primitive, earlier, unread=place > 0 and not _reads(found, earlier[-1]))
        if number == on_path:
            on_path = _next_on_path(rng, inputs)
        found[number] = Node(primitive.name, tuple(inputs))
    return found


def _reads(found: dict[int, Node], number: int) -> bool:
    return any(number in node.inputs for node in found.values())


def _inputs(rng: np.random.Generator, primitive: Primitive, earlier: list[int], unread: bool) -> list[int]:
    """Random earlier nodes; the latest of them is among these if nobody else reads it."""
    inputs = [earlier[i] for i in rng.integers(len(earlier), size=primitive.arity)]
    if unread and earlier[-1] not in inputs:
        inputs[rng.integers(primitive.arity)] = earlier[-1]
    return inputs


def _next_on_path(rng: np.random.Generator, inputs: list[int]) -> int:
    """An input that can carry x on; where there is none, x itself takes the place of one."""
    able = [i for i in inputs if i == X or i >= len(INITIAL_NODES)]
    if not able:
        inputs[rng.integers(len(inputs))] = X
        return X
    return able[rng.integers(len(able))]
