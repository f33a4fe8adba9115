"""Where small values lie between kernels: numbered rows of C numbers, one row per sample or one for all.

kept: raw moments (mean, biased variance, mean of squares) from forward to backward. partial: what a program found in
its slice of a sample; one writer for each, so no atomics. adjoint: what flows into a small value, complete.
"""

from collections.abc import Hashable

from evonorm.kernels.plan.plan import Plan
from evonorm.kernels.plan.values import Kind, Value

RawRow = tuple[int, str, str]  # of which value, over which set, which quantity
QUANTITIES = {"mean": ("mean",), "std": ("mean", "variance"), "rms": ("square",)}  # what a moment is made of


class Numbering(dict[Hashable, int]):
    """Gives each key the next number on first mention."""

    def of(self, key: Hashable) -> int:
        return self.setdefault(key, len(self))


class Rows:
    """The rows of one program, by what they hold."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.kept = {Kind.SAMPLE: Numbering(), Kind.CHANNEL: Numbering()}
        self.adjoints = {Kind.SAMPLE: Numbering(), Kind.CHANNEL: Numbering()}
        self.forward_partials = Numbering()  # (source, quantity)
        self.backward_partials = Numbering()  # (pass, small value)

    def raw(self, moment: int) -> tuple[RawRow, ...]:
        """The rows that a moment is made of; the last is the moment before its root."""
        value = self.plan.values[moment]
        return tuple((value.inputs[0], value.index_set, quantity) for quantity in QUANTITIES[value.moment])

    def export(self, place: int) -> int:
        """The kept row of a batch moment of the graph: of its moment, or made for it where nothing varies."""
        export = self.plan.exports[place]
        key = ("constant", export.source, export.moment) if export.of_constant else self.raw(export.source)[-1]
        return self.kept[Kind.CHANNEL].of(key)


def quantities_of(plan: Plan, source: int) -> tuple[str, ...]:
    """What passes must find about a full value whose moments are taken."""
    moments = [plan.values[user] for user, _ in plan.users[source] if plan.values[user].op == "moment"]
    return tuple(dict.fromkeys(quantity for each in moments for quantity in QUANTITIES[each.moment]))


def set_size(value: Value) -> str:
    """How many elements of a full value a moment is over, as text; `count` is that of all samples and ranks."""
    return {"wh": "P", "whcg": "(P * CPG)", "whc": "(P * C)", "bwh": "count_"}[value.index_set]


def set_width(value: Value) -> str:
    """The same for a value that does not vary over the plane: channels, or samples as a share of all elements."""
    return {"whcg": "CPG", "whc": "C", "bwh": "(count_ / P)"}[value.index_set]
