"""Every element-wise operation on plain numbers: what the planner computes once instead of in every step."""

import math
from collections.abc import Callable

import numpy as np

from evonorm.graph import PRIMITIVES, SMALLEST_DIVISOR


def fold(op: str, *numbers: float) -> float:
    """The operation's value: the planner's own ones are here, a primitive's is that of its record."""
    if op in FOLD:
        return FOLD[op](*numbers)
    function = PRIMITIVES[op].numpy
    assert function is not None
    with np.errstate(all="ignore"):
        return float(function(*(np.array([number]) for number in numbers))[0]) + 0.0  # -0 is 0


def _guard(b: float) -> float:
    return max(b, SMALLEST_DIVISOR) if b >= 0 else min(b, -SMALLEST_DIVISOR)


FOLD: dict[str, Callable[..., float]] = {
    "sub": lambda a, b: a - b,
    "recip": lambda a: 1 / _guard(a),
    "sqrt_plus": lambda a, b: math.sqrt(a + b),
    "norm_plus": lambda a, b: math.sqrt(a * a + b),
}
