"""Every element-wise operation on plain numbers: what the planner computes once instead of in every step."""

import math
from collections.abc import Callable

from evonorm.graph import LOG_SQRT_EPS, SMALLEST_DIVISOR


def _guard(b: float) -> float:
    return max(b, SMALLEST_DIVISOR) if b >= 0 else min(b, -SMALLEST_DIVISOR)


def _exp(a: float) -> float:
    return math.exp(a) if a < 700 else math.inf


FOLD: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / _guard(b),
    "recip": lambda a: 1 / _guard(a),
    "max": lambda a, b: math.nan if math.isnan(a) or math.isnan(b) else max(a, b),
    "neg": lambda a: -a,
    "sigmoid": lambda a: 1 / (1 + _exp(-a)),
    "tanh": math.tanh,
    "exp": _exp,
    "log": lambda a: math.copysign(1.0, a) * math.log(abs(a) + LOG_SQRT_EPS) if a else 0.0,
    "abs": abs,
    "square": lambda a: a * a,
    "sqrt": lambda a: math.copysign(math.sqrt(abs(a) + LOG_SQRT_EPS), a) if a else 0.0,
    "sqrt_plus": lambda a, b: math.sqrt(a + b),
    "norm_plus": lambda a, b: math.sqrt(a * a + b),
}
