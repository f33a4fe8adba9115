"""Canonical form of a graph: a key for comparing layers, never what a module runs.

Every rule holds exactly or up to rounding, in training and in evaluation, for every finite value under the contract's
numerics. Hence what is *not* here: a std or rms of a constant (it keeps its eps), a moment over the batch of a
constant (in evaluation it reads a moving moment), a / (-b) (zero counts as positive in the guarded division), and
log(1) or sqrt(1) (both carry an epsilon).
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from evonorm.graph.graph import INITIAL_NODES, Graph, Node, with_output
from evonorm.graph.primitive import Primitive
from evonorm.graph.primitives import INDEX_SETS, PRIMITIVES

# What a node can vary over: b, the spatial axes s, the channels inside a group c, the groups g.
_INITIAL_AXES = {"x": frozenset("bscg"), "0": frozenset(), "v0": frozenset("cg"), "v1": frozenset("cg")}


@dataclass(frozen=True)
class Expression:
    """A simplified expression; equal expressions compare equal whatever graph they came from."""

    op: str  # a primitive's name, or an initial node's
    inputs: tuple["Expression", ...] = ()

    @cached_property
    def digest(self) -> str:
        text = f"{self.op}({','.join(each.digest for each in self.inputs)})"
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()

    @cached_property
    def axes(self) -> frozenset[str]:
        """The axes over which the value can vary."""
        if not self.inputs:
            return _INITIAL_AXES[self.op]
        axes = frozenset().union(*(each.axes for each in self.inputs))
        index_set = PRIMITIVES[self.op].index_set
        return axes - INDEX_SETS[index_set].axes if index_set else axes

    @cached_property
    def never_negative(self) -> bool:
        if not self.inputs:
            return self.op == "0"
        if self.op == "max":
            return any(each.never_negative for each in self.inputs)
        laws = PRIMITIVES[self.op].laws
        return "never_negative" in laws or ("keeps_sign" in laws and all(each.never_negative for each in self.inputs))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


ZERO = Expression("0")
ONE = Expression("exp", (ZERO,))


def simplify(graph: Graph) -> Graph:
    """The canonical graph of the same function: without dead nodes, inputs ordered, the sure identities applied.

    Two graphs with one canonical form are the same function; the reverse need not hold.

    Example: assert str(evonorm.simplify(evonorm.Graph.parse("max(x, x) + 0"))) == "x"
    """
    found = {number: Expression(name) for number, name in enumerate(INITIAL_NODES)}
    for number, node in graph.live_nodes:
        found[number] = apply(node.op, *(found[i] for i in node.inputs))
    return to_graph(found[graph.output])


def canonical_key(graph: Graph) -> str:
    """Equal for graphs with an equal canonical form."""
    return simplify(graph).encode()


def apply(op: str, *inputs: Expression) -> Expression:
    """`op` of simplified inputs, simplified."""
    if op in _BINARY_RULES:
        return _BINARY_RULES[op](*inputs)
    if len(inputs) == 2:
        return _ordered(op, *inputs) if "commutative" in PRIMITIVES[op].laws else Expression(op, inputs)
    return _unary(PRIMITIVES[op], inputs[0])


def _unary(primitive: Primitive, a: Expression) -> Expression:
    op, laws = primitive.name, primitive.laws
    if a == ZERO and "zero_at_zero" in laws:
        return ZERO
    if a.op == "neg":
        if op == "neg":
            return a.inputs[0]
        if "odd" in laws:
            return apply("neg", apply(op, a.inputs[0]))
        if "even" in laws:
            return apply(op, a.inputs[0])
    if a.op == "abs" and "even" in laws and primitive.moment != "std":  # std(|a|) is another thing than std(a)
        return apply(op, a.inputs[0])
    if op == "abs" and a.never_negative:
        return a
    return _mean(primitive, a) if primitive.moment == "mean" else Expression(op, (a,))


def _mean(primitive: Primitive, a: Expression) -> Expression:
    averaged = INDEX_SETS[str(primitive.index_set)].axes
    if not primitive.needs_batch and not a.axes & averaged:
        return a
    inner = PRIMITIVES[a.op] if a.inputs else None
    if inner and inner.moment == "mean" and not inner.needs_batch and INDEX_SETS[str(inner.index_set)].axes < averaged:
        return apply(primitive.name, a.inputs[0])  # the mean of equally large means is the mean of all
    return Expression(primitive.name, (a,))


def _ordered(op: str, a: Expression, b: Expression) -> Expression:
    return Expression(op, (a, b) if a.digest <= b.digest else (b, a))


def _add(a: Expression, b: Expression) -> Expression:
    if ZERO in (a, b):
        return b if a == ZERO else a
    if apply("neg", a) == b:
        return ZERO
    if a.op == b.op == "neg":
        return apply("neg", _add(a.inputs[0], b.inputs[0]))
    return _ordered("add", a, b)


def _mul(a: Expression, b: Expression) -> Expression:
    if ZERO in (a, b):
        return ZERO
    if ONE in (a, b):
        return b if a == ONE else a
    for one, other in ((a, b), (b, a)):
        if one.op == "neg":
            return apply("neg", _mul(one.inputs[0], other))
    return apply("square", a) if a == b else _ordered("mul", a, b)


def _div(a: Expression, b: Expression) -> Expression:
    if a == ZERO or b == ONE:
        return a
    if a.op == "neg":
        return apply("neg", _div(a.inputs[0], b))
    return Expression("div", (a, b))


def _max(a: Expression, b: Expression) -> Expression:
    if a == b:
        return a
    for one, other in ((a, b), (b, a)):
        if one == ZERO and other.never_negative:
            return other
        if other.op == "max" and one in other.inputs:
            return other
    return _ordered("max", a, b)


_BINARY_RULES = {"add": _add, "mul": _mul, "div": _div, "max": _max}


def to_graph(output: Expression) -> Graph:
    numbers: dict[Expression, int] = {Expression(name): number for number, name in enumerate(INITIAL_NODES)}
    nodes: list[Node] = []

    def number_of(expression: Expression) -> int:
        if expression not in numbers:
            inputs = tuple(number_of(each) for each in expression.inputs)
            nodes.append(Node(expression.op, inputs))
            numbers[expression] = len(INITIAL_NODES) + len(nodes) - 1
        return numbers[expression]

    return with_output(nodes, number_of(output))
