"""The text of one kernel as it grows: every value gets a name, and the lines that compute it, on first mention.

`once` are lines before the kernel's loop, `each` those inside it, `after` those behind it. A kernel with a loop over
elements computes full values inside it and small ones before; one with a loop over samples computes rows inside.
`splits` are lines of an earlier loop, over what the programs of a pass have left.
"""

import math
from collections.abc import Hashable

from evonorm.kernels.gpu.operations import operation
from evonorm.kernels.gpu.rows import RawRow, Rows, set_size, set_width
from evonorm.kernels.plan.adjoints import ADJOINTS, DIVISIONS, divisor_adjoint
from evonorm.kernels.plan.values import Kind

FP32 = "tl.float32"
SUFFIX = {Kind.SAMPLE: "samples", Kind.CHANNEL: "channels"}


class Scope:
    """Names and lines of one kernel; `inside` is the kind of value that its loop runs over."""

    def __init__(self, rows: Rows, inside: Kind | None) -> None:
        self.plan, self.rows, self.inside = rows.plan, rows, inside
        self.once: list[str] = []
        self.each: list[str] = []
        self.after: list[str] = []
        self.splits: list[str] = []
        self.sums: dict[str, None] = {}  # names that start at zero before the loops
        self.outside = self.once
        self.names: dict[Hashable, str] = {}
        self.pointers: dict[str, None] = {}

    def define(self, key: Hashable, name: str, text: str, kind: Kind) -> str:
        """A name for what the text computes, once."""
        if key not in self.names:
            self.names[key] = name
            inside = self.inside is not None and kind >= self.inside
            (self.each if inside else self.outside).append(f"{name} = {text}")
        return self.names[key]

    def leave_loop(self) -> None:
        """What comes now may need the loop's sums."""
        self.outside, self.inside = self.after, None

    def sum(self, name: str) -> str:
        self.sums[name] = None
        return name

    @property
    def full_values(self) -> int:
        return len(self.each) if self.inside == Kind.FULL else 0

    def pointer(self, name: str) -> str:
        self.pointers[name] = None
        return name

    def address(self, pointer: str, kind: Kind, row: int | None = None) -> str:
        """Where a row of small values begins, with the channels of this program added."""
        self.pointer(pointer)
        if kind == Kind.SAMPLE:
            return f"{pointer} + {f'({row} * B + sample)' if row else 'sample'} * C + channel"
        return f"{pointer} + {f'{row} * C + ' if row else ''}channel"

    def load(self, pointer: str, kind: Kind, row: int | None = None) -> str:
        mask = "present" if kind == Kind.SAMPLE else "in_channels"
        return f"tl.load({self.address(pointer, kind, row)}, mask={mask}, other=0.0)"

    def store(self, pointer: str, kind: Kind, row: int | None, value: str) -> str:
        mask = "present" if kind == Kind.SAMPLE else "in_channels"
        return f"tl.store({self.address(pointer, kind, row)}, {value}, mask={mask})"

    def value(self, number: int) -> str:
        """The name of a value of the plan."""
        if number in self.names:
            return self.names[number]
        value = self.plan.values[number]
        if value.op == "moment":
            return self._moment(number)
        if value.op == "const":
            text = f"tl.full((1, 1), {_literal(value.constant)}, {FP32})"
        elif value.op == "x":
            text = f"tl.load({self.pointer('x')} + at, mask=valid, other=0.0).to({FP32})"
        elif value.op == "moving":
            text = self.load(f"moving{value.index}", value.kind)
        elif not value.inputs:
            text = self.load(value.op, value.kind)
        else:
            text = operation(value.op, *[self.value(i) for i in value.inputs])
        return self.define(number, f"t{number}", text, value.kind)

    def raw(self, key: RawRow, kind: Kind) -> str:
        """A raw moment, from this kernel if it has found it, else as it was kept."""
        if key in self.names:
            return self.names[key]
        source, index_set, quantity = key
        text = self.load(f"kept_{SUFFIX[kind]}", kind, self.rows.kept[kind].of(key))
        return self.define(key, f"{quantity}{source}_{index_set}", text, kind)

    def _moment(self, number: int) -> str:
        value = self.plan.values[number]
        raw = self.raw(self.rows.raw(number)[-1], value.kind)
        if value.moment == "mean":
            return raw
        return self.define(number, f"t{number}", f"tl.sqrt_rn({raw} + {self.plan.eps!r})", value.kind)

    def adjoint(self, number: int) -> str:
        """What flows into a small value, or into the whole set of a moment; as this or an earlier kernel found it."""
        if ("adjoint", number) in self.names:
            return self.names["adjoint", number]
        kind = self.plan.values[number].kind
        text = self.load(f"adjoint_{SUFFIX[kind]}", kind, self.rows.adjoints[kind].of(number))
        return self.define(("adjoint", number), f"g{number}", text, kind)

    def count(self) -> str:
        """The number of elements behind a moment over the batch."""
        return self.define("count", "count_", f"tl.load({self.pointer('count')})", Kind.CONST)

    def flow_from_moment(self, moment: int) -> str:
        """What a moment sends to an element of its source, as text: S, t * S / A or (t - mean) * S / A."""
        value = self.plan.values[moment]
        source = value.inputs[0]
        if value.index_set == "bwh":
            self.count()
        size = set_size(value) if self.plan.is_full(source) else set_width(value)
        text = f"per({self.adjoint(moment)}, {size})"
        share = self.define(("share", moment), f"share{moment}", text, value.kind)
        if value.moment == "mean":
            return share
        text = f"{share} / {self.value(moment)}"
        share = self.define(("coefficient", moment), f"coefficient{moment}", text, value.kind)
        if value.moment == "rms":
            return f"{self.value(source)} * {share}"
        # t - mean first: their difference is exact where it matters, products would cancel
        mean = self.raw(self.rows.raw(moment)[0], value.kind)
        return f"({self.value(source)} - {mean}) * {share}"

    def flow(self, user: int, position: int) -> str:
        """What flows from a value into one of its inputs, as text."""
        value = self.plan.values[user]
        if value.op == "moment":
            return self.flow_from_moment(user)
        g = self.adjoint(user)
        if value.op in DIVISIONS:
            return self._flow_from_division(user, position, g)
        op, reads = ADJOINTS[value.op][position]
        return operation(op, g, *[self.value(user if r == "v" else value.inputs["abc".index(r)]) for r in reads])

    def _flow_from_division(self, user: int, position: int, g: str) -> str:
        """q = a / b: into a flows h = g / b, into b -h * q."""
        value = self.plan.values[user]
        divisor = value.inputs[1]
        text = operation(f"adjoint_{value.op}", g, self.value(divisor))
        h = self.define(("quotient", user), f"h{user}", text, value.kind)
        if position == 0:
            return h
        op = divisor_adjoint(self.plan.values[divisor])
        guard = [self.value(divisor)] if op == "neg_mul_guarded" else []
        return operation(op, h, self.value(user), *guard)


def _literal(number: float) -> str:
    return repr(number) if math.isfinite(number) else f'float("{number}")'
