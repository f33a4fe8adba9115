"""Every small layer: all expressions of up to three nodes, each once as far as its canonical form tells.

The paper draws at random where the small end of its space can simply be gone through: `x / rms_wh(x)` has two nodes,
RS + rej three.
"""

from collections.abc import Iterator

from evonorm.graph.graph import INITIAL_NODES, Graph
from evonorm.graph.primitive import Primitive
from evonorm.graph.primitives import searched_rows
from evonorm.graph.simplify import Expression, apply, to_graph

LARGEST = 3  # beyond it, two halves may share a part; and they are millions

INITIAL = [Expression(name) for name in INITIAL_NODES]


def small_graphs(size: int, batch_ops: bool = True) -> Iterator[Graph]:
    """Graphs that read x and have `size` nodes in canonical form, always in the same order; x itself has none."""
    if not 0 <= size <= LARGEST:
        raise ValueError(f"expressions of 0 to {LARGEST} nodes can be enumerated, got {size}.")
    for expression in _levels(size, batch_ops)[size]:
        if INITIAL[0] in parts(expression):
            yield to_graph(expression)


def _levels(size: int, batch_ops: bool) -> list[list[Expression]]:
    """The distinct expressions with 0, 1, ... nodes. Those without x are among them, as parts of larger ones."""
    allowed = [each for row in searched_rows() for each in row if batch_ops or not each.needs_batch]
    levels, known = [INITIAL], set(INITIAL)
    for _ in range(size):
        level: list[Expression] = []
        for expression in _next(levels, allowed):
            if expression not in known and number_of_nodes(expression) == len(levels):
                known.add(expression)
                level.append(expression)
        levels.append(level)
    return levels


def _next(levels: list[list[Expression]], allowed: list[Primitive]) -> Iterator[Expression]:
    """Everything that one more node can make of the levels, with repetitions."""
    pairs = [*_pairs(levels)]
    for primitive in allowed:
        if primitive.arity == 1:
            yield from (apply(primitive.name, each) for each in levels[-1])
        else:
            yield from (apply(primitive.name, *pair) for pair in pairs)


def _pairs(levels: list[list[Expression]]) -> Iterator[tuple[Expression, Expression]]:
    """In both orders: the largest so far with its own parts and the initial nodes, and pairs that share nothing."""
    for a in levels[-1]:
        for b in [*parts(a), *(each for each in INITIAL if each not in parts(a))]:
            yield from ((a, b), (b, a))
    for i in range(1, len(levels) - 1):
        yield from ((a, b) for a in levels[i] for b in levels[len(levels) - 1 - i])


def parts(expression: Expression) -> list[Expression]:
    """The expression and all that it is made of, each once."""
    found = dict.fromkeys([expression])
    for each in expression.inputs:
        found |= dict.fromkeys(parts(each))
    return list(found)


def number_of_nodes(expression: Expression) -> int:
    return sum(bool(each.inputs) for each in parts(expression))
