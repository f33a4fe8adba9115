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
from evonorm.graph.primitives import PRIMITIVES

# What a node can vary over: b, the spatial axes s, the channels inside a group c, the groups g.
_INITIAL_AXES = {"x": frozenset("bscg"), "0": frozenset(), "v0": frozenset("cg"), "v1": frozenset("cg")}
_AVERAGED_AXES = {"bwh": frozenset("bs"), "whc": frozenset("scg"), "wh": frozenset("s"), "whcg": frozenset("sc")}

_ODD = {"tanh", "log", "sqrt", "mean_bwh", "mean_whc", "mean_wh", "mean_whcg"}  # f(-a) = -f(a)
_EVEN = {"abs", "square", *(name for name, p in PRIMITIVES.items() if p.moment in ("rms", "std"))}  # f(-a) = f(a)
_EVEN_IN_ABS = {"abs", "square", *(name for name, p in PRIMITIVES.items() if p.moment == "rms")}  # f(|a|) = f(a)
_ZERO_AT_ZERO = {"neg", "tanh", "log", "abs", "square", "sqrt"}  # f(0) = 0
_POSITIVE = {"sigmoid", "exp", "abs", "square", *(name for name, p in PRIMITIVES.items() if p.moment in ("rms", "std"))}
_KEEPS_SIGN = {"add", "mul", "div", "tanh", "sqrt", *(name for name, p in PRIMITIVES.items() if p.moment == "mean")}


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
        return axes - _AVERAGED_AXES[index_set] if index_set else axes

    @cached_property
    def never_negative(self) -> bool:
        if not self.inputs:
            return self.op == "0"
        if self.op == "max":
            return any(each.never_negative for each in self.inputs)
        return self.op in _POSITIVE or (self.op in _KEEPS_SIGN and all(each.never_negative for each in self.inputs))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


ZERO = Expression("0")
ONE = Expression("exp", (ZERO,))


def simplify(graph: Graph) -> Graph:
    """The canonical graph of the same function: without dead nodes, inputs ordered, the sure identities applied."""
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
    return _unary(op, inputs[0])


def _unary(op: str, a: Expression) -> Expression:
    if a == ZERO and op in _ZERO_AT_ZERO:
        return ZERO
    if a.op == "neg":
        if op == "neg":
            return a.inputs[0]
        if op in _ODD:
            return apply("neg", apply(op, a.inputs[0]))
        if op in _EVEN:
            return apply(op, a.inputs[0])
    if a.op == "abs" and op in _EVEN_IN_ABS:
        return apply(op, a.inputs[0])
    if op == "abs" and a.never_negative:
        return a
    if PRIMITIVES[op].moment == "mean":
        return _mean(op, a)
    return Expression(op, (a,))


def _mean(op: str, a: Expression) -> Expression:
    index_set = PRIMITIVES[op].index_set
    assert index_set is not None
    if index_set != "bwh" and not a.axes & _AVERAGED_AXES[index_set]:
        return a
    inner = PRIMITIVES.get(a.op)
    if inner and inner.moment == "mean" and inner.index_set != "bwh":
        assert inner.index_set is not None
        if _AVERAGED_AXES[inner.index_set] < _AVERAGED_AXES[index_set]:
            return apply(op, a.inputs[0])  # the mean of equally large means is the mean of all
    return Expression(op, (a,))


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
