"""Factors that cancel: v * x / v must be x and must leave v without a gradient, not with the rounding errors of a sum.

Eager divides, and a number divided by itself is exactly 1; a product with a rounded reciprocal is not. Where a factor
can meet itself in a quotient, the two are brought together as a quotient of small rows, or the division is a true one.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evonorm.kernels.plan.values import Values

RECIPROCALS = ("recip", "recip_plain")
QUOTIENTS = (*RECIPROCALS, "div", "div_plain")


def cancel_small_factor(values: "Values", full: int, small: int) -> int | None:
    """(t * s) * small as t * (s * small), where s and small share something and one of them divides by it."""
    core, factor = split_small_factor(values, full)
    if factor is None or not _share(values, factor, small):
        return None
    quotients = [number for number in (factor, small) if values[number].op in QUOTIENTS]
    reciprocals = [number for number in quotients if values[number].op in RECIPROCALS]
    if not quotients or len(reciprocals) == 2:  # both divide: nothing cancels
        return None
    return values.add("mul", core, _product(values, factor, small))


def split_small_factor(values: "Values", full: int) -> tuple[int, int | None]:
    """A full value as (t, s) with t * s equal to it; s is None if it has no small factor."""
    value = values[full]
    if values.is_small(full):
        return full, None
    if value.op == "neg":
        core, factor = split_small_factor(values, value.inputs[0])
        return (full, None) if factor is None else (values.add("neg", core), factor)
    if value.op == "mul":
        for one, other in (value.inputs, value.inputs[::-1]):
            if values.is_small(one):
                return other, one
    if value.op in ("div", "div_plain") and values.is_small(value.inputs[0]):
        return values.add("recip", value.inputs[1]), value.inputs[0]
    return full, None


def may_equal_divisor(values: "Values", full: int, small: int) -> bool:
    """Whether an element of the numerator can be its small divisor: max(v, x) / v, or x / mean(x) of one element."""
    value, divisor = values[full], values[small]
    if value.op == "neg":
        return may_equal_divisor(values, value.inputs[0], small)
    if value.op == "max" and any(values.is_small(i) and _share(values, i, small) for i in value.inputs):
        return True
    return divisor.op == "moment" and divisor.moment == "mean" and divisor.inputs[0] == full


def divided_by(values: "Values", full: int, divisor: int) -> int | None:
    """For t and t * (1 / v) the v, guarded as in the quotient: t / (t / v) is (t / v) / (t / v) * v."""
    core, factor = split_small_factor(values, divisor)
    if factor is None or core != full or values[factor].op not in RECIPROCALS or values.reads_x(factor):
        return None
    return values.make("recip_plain", factor)


def without_sign(values: "Values", number: int) -> int:
    return values[number].inputs[0] if values[number].op == "neg" else number


def _product(values: "Values", one: int, other: int) -> int:
    for reciprocal, factor in ((one, other), (other, one)):
        if values[reciprocal].op in RECIPROCALS:
            return values.add("div", factor, values[reciprocal].inputs[0])
    return values.add("mul", one, other)


def _share(values: "Values", one: int, other: int) -> bool:
    """Whether both are computed from one small value that is not a constant."""
    return any(values.is_small(i) and values[i].op != "const" for i in values.behind[one] & values.behind[other])
