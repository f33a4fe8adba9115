"""The planner's form of a graph: hash-consed values that know where they vary and how they are stored.

Every rewrite that keeps the meaning of a single expression happens here, while values are added: constants are
folded, equal values are one value, a moment of something that does not vary over its set is no moment.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from evonorm.graph import INDEX_SETS, PRIMITIVES, SMALLEST_DIVISOR
from evonorm.kernels.plan.cancel import (
    cancel_small_factor,
    divided_by,
    may_equal_divisor,
    split_small_factor,
    without_sign,
)
from evonorm.kernels.plan.fold import fold

PARAMETERS = ("weight", "bias", "v0", "v1")
# Operations of the planner's own, beside the primitives.
PLANNERS_OWN = ("copy", "sub", "fma", "recip", "recip_plain", "div_plain", "sqrt_plus", "norm_plus")


class NoInstructionError(ValueError):
    """A graph with a primitive that no kernel but plain torch can run; `primitive` is its name."""

    def __init__(self, primitive: str) -> None:
        super().__init__(f"there is no native instruction for {primitive}")
        self.primitive = primitive


class Kind(IntEnum):
    """How a value is stored: one number, C numbers, B x C numbers, or recomputed element by element."""

    CONST = 0
    CHANNEL = 1
    SAMPLE = 2
    FULL = 3


# What a value can vary over: b, the spatial axes s, the channels inside a group c, the groups g.
LEAF_AXES = {
    Kind.CONST: frozenset(),
    Kind.CHANNEL: frozenset("cg"),
    Kind.SAMPLE: frozenset("bcg"),
    Kind.FULL: frozenset("bscg"),
}


@dataclass(frozen=True)
class Value:
    """One value of the program. `lower` bounds it from below where that is known."""

    op: str  # "x", "const", a parameter, "moving", "moment", or an opcode
    inputs: tuple[int, ...]
    kind: Kind
    axes: frozenset[str]
    needs_grad: bool
    lower: float
    digest: str
    constant: float = 0.0
    moment: str = ""
    index_set: str = ""
    index: int = 0  # which moving moment


class Values:
    """Adds values, rewriting on the way. Numbers are positions in `items`, inputs before users."""

    def __init__(self, eps: float, per_sample: frozenset[str] = frozenset()) -> None:
        self.items: list[Value] = []
        self.numbers: dict[str, int] = {}
        self.behind: list[frozenset[int]] = []  # for each value those it is computed from, itself included
        self.shifted: dict[int, int] = {}  # std(t + c) -> the moment std(t) that stands for it
        self.eps = eps
        self.per_sample = per_sample  # the parameters of shape (B, C)

    def __getitem__(self, number: int) -> Value:
        return self.items[number]

    def leaf(self, op: str, index: int = 0, lower: float = -math.inf) -> int:
        kind = Kind.FULL if op == "x" else Kind.SAMPLE if op in self.per_sample else Kind.CHANNEL
        axes = LEAF_AXES[kind]
        needs_grad = op != "moving"
        return self._intern(Value(op, (), kind, axes, needs_grad, lower, _digest(op, index), index=index))

    def const(self, number: float) -> int:
        with np.errstate(over="ignore"):  # a constant too large for fp32 is infinite there, as in eager
            number = float(np.float32(number))
        digest = _digest("const", number)
        return self._intern(
            Value("const", (), Kind.CONST, LEAF_AXES[Kind.CONST], False, number, digest, constant=number)
        )

    def moment(self, moment: str, index_set: str, source: int) -> int:
        """A moment of a value over an index set; batch moments of moving statistics are leaves, not this."""
        if not INDEX_SETS[index_set].native:
            raise NoInstructionError(f"{moment}_{index_set}")
        a = self[source]
        if a.op == "neg" and moment != "mean":
            return self.moment(moment, index_set, a.inputs[0])
        if self._is_set_constant(index_set, source):
            return self._moment_of_set_constant(moment, source)
        if moment == "std" and a.op in ("add", "sub"):
            for shift, rest in (a.inputs, a.inputs[::-1]):
                if self._is_shift(index_set, shift):
                    return self._std_without_shift(index_set, rest, shift)
        kind = Kind.CHANNEL if index_set == "bwh" else Kind.SAMPLE
        lower = a.lower if moment == "mean" else math.sqrt(self.eps)
        digest = _digest(f"{moment}_{index_set}", a.digest)
        axes = a.axes - INDEX_SETS[index_set].axes
        return self._intern(
            Value("moment", (source,), kind, axes, a.needs_grad, lower, digest, moment=moment, index_set=index_set)
        )

    def _is_set_constant(self, index_set: str, number: int) -> bool:
        """Whether a value does not vary over the set; any per-sample value counts as varying over the batch."""
        value = self[number]
        return not value.axes & INDEX_SETS[index_set].axes and not (index_set == "bwh" and value.kind == Kind.SAMPLE)

    def _is_shift(self, index_set: str, number: int) -> bool:
        """Whether a std stays the same without this term; a raw batch moment must still see inf that came with x."""
        return self._is_set_constant(index_set, number) and not (index_set == "bwh" and self.reads_x(number))

    def _std_without_shift(self, index_set: str, source: int, shift: int) -> int:
        """std(t + c) = std(t): into c flows exactly 0, not a sum that cancels. c - c is NaN where c is not finite."""
        std = self.moment("std", index_set, source)
        result = self.add("add", std, self.add("sub", shift, shift))
        self.shifted[result] = self.shifted.get(std, std)
        return result

    def _moment_of_set_constant(self, moment: str, source: int) -> int:
        if moment == "mean":
            return source
        eps = self.const(self.eps)
        return self.add("sqrt_plus", self.const(0.0), eps) if moment == "std" else self.add("norm_plus", source, eps)

    def add(self, op: str, *inputs: int) -> int:
        """An element-wise value, simplified."""
        if all(self[i].op == "const" for i in inputs):
            return self.const(fold(op, *(self[i].constant for i in inputs)))
        rule = RULES.get(op)
        return rule(self, *inputs) if rule else self.make(op, *inputs)

    def make(self, op: str, *inputs: int, full: bool = False) -> int:
        """An element-wise value as it is; inputs of commutative ones are ordered by what they compute."""
        if op not in PLANNERS_OWN and PRIMITIVES[op].adjoint is None:
            raise NoInstructionError(op)
        if op in ("add", "mul", "max") and self[inputs[0]].digest > self[inputs[1]].digest:
            inputs = inputs[::-1]
        values = [self[i] for i in inputs]
        kind = Kind.FULL if full else max(value.kind for value in values)
        axes = frozenset().union(*(value.axes for value in values))
        needs_grad = any(value.needs_grad for value in values)
        lower = 0.0 if op == "sub" and inputs[0] == inputs[1] else _lower_bound(op, [value.lower for value in values])
        return self._intern(
            Value(op, inputs, kind, axes, needs_grad, lower, _digest(op, *(value.digest for value in values)))
        )

    def _intern(self, value: Value) -> int:
        number = self.numbers.setdefault(value.digest, len(self.items))
        if number == len(self.items):
            self.items.append(value)
            self.behind.append(frozenset((number,)).union(*(self.behind[i] for i in value.inputs)))
        return number

    def is_small(self, number: int) -> bool:
        return self[number].kind < Kind.FULL

    def reads_x(self, number: int) -> bool:
        return any(self[i].op == "x" for i in self.behind[number])

    def is_const(self, number: int, constant: float) -> bool:
        return self[number].op == "const" and self[number].constant == constant


def _digest(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()


def _lower_bound(op: str, lower: list[float]) -> float:
    """What the value is never below; NaN inputs aside."""
    if op == "sqrt_plus":
        return math.sqrt(sum(lower)) if min(lower) >= 0 else -math.inf
    if op in PLANNERS_OWN:
        return 0.0 if op in ("norm_plus", "recip") and min(lower) >= 0 else -math.inf
    primitive = PRIMITIVES[op]
    if primitive.lower is not None:
        return primitive.lower(*lower)
    keeps_sign = "keeps_sign" in primitive.laws and min(lower) >= 0
    return 0.0 if "never_negative" in primitive.laws or keeps_sign else -math.inf


def _add(values: Values, a: int, b: int) -> int:
    for one, other in ((a, b), (b, a)):
        if values.is_const(one, 0.0):
            return other
    for one, other in ((a, b), (b, a)):
        if values[one].op == "neg":
            return values.add("sub", other, values[one].inputs[0])
    return values.make("add", a, b)


def _sub(values: Values, a: int, b: int) -> int:
    if values.is_const(b, 0.0):
        return a
    return values.add("neg", b) if values.is_const(a, 0.0) else values.make("sub", a, b)


def _mul(values: Values, a: int, b: int) -> int:
    for one, other in ((a, b), (b, a)):
        if values.is_const(one, 1.0):
            return other
        if values.is_small(one) and not values.is_small(other):
            cancelled = cancel_small_factor(values, other, one)
            if cancelled is not None:
                return cancelled
    return values.add("square", a) if a == b else values.make("mul", a, b)


def _div(values: Values, a: int, b: int) -> int:
    if values.is_const(b, 1.0):
        return a
    if not values.is_small(a) and values.is_small(b) and not may_equal_divisor(values, a, b):
        return values.add("mul", a, values.add("recip", b))  # a small reciprocal costs nothing per element
    core, factor = split_small_factor(values, a)
    if factor is not None and without_sign(values, core) == without_sign(values, b):
        return values.add("mul", values.add("div", core, b), factor)  # (v * x) / x: x / x is exactly 1
    inverse = divided_by(values, a, b)
    if inverse is not None:
        return values.add("mul", values.make("div", b, b), inverse)
    return values.make("div_plain" if is_safe_divisor(values[b]) else "div", a, b)


def _recip(values: Values, a: int) -> int:
    return values.make("recip_plain" if is_safe_divisor(values[a]) else "recip", a)


def _max(values: Values, a: int, b: int) -> int:
    return a if a == b else values.make("max", a, b)


def _neg(values: Values, a: int) -> int:
    return values[a].inputs[0] if values[a].op == "neg" else values.make("neg", a)


def is_safe_divisor(value: Value) -> bool:
    """Whether the guard of the division can never act."""
    return value.lower >= 2 * SMALLEST_DIVISOR


RULES: dict[str, Callable[..., int]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "recip": _recip,
    "max": _max,
    "neg": _neg,
}
