"""One record per primitive: what it is called, how it is written, computed, differentiated, simplified and counted.

Every room reads its face here. A moment's numerical faces follow from its kind and its index set (`moments.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evonorm.graph.templates import Template

Array = NDArray[np.floating]

# Where the terms of a sum cancel down to this share of them, what is left is rounding. It counts as zero, since its
# sign would decide what abs, the signed log or the guarded division make of it.
CANCELLED = 1e-13

LAWS = {
    "odd": "f(-a) = -f(a)",
    "even": "f(-a) = f(a)",
    "zero_at_zero": "f(0) = 0",
    "never_negative": "f >= 0 everywhere",
    "keeps_sign": "f >= 0 where no input is negative",
    "commutative": "f(a, b) = f(b, a)",
}


@dataclass(frozen=True)
class Primitive:
    """One function that a node can apply.

    Attributes:
        name: in formulas and stored graphs.
        arity: how many inputs it takes, one or two.
        formula, latex, mathml: how it is written for people.
        symbol: what stands on its node in a drawing.
        torch: the function as Python source, which exported layers contain and `evonorm.kernels` compiles, so that
            the two cannot differ. None for a moment.
        functions: source of functions that the expression in `torch` calls.
        numpy: the same on arrays, for probes. None for a moment.
        numpy_backward: (g, y, *inputs) -> a gradient for each input, with y the value and g its gradient.
        cost: multiply-adds for each element that it gives out, or for each that a moment reads.
        laws: which of `LAWS` hold for every finite input; `simplify` and the planner rely on them.
        adjoint: for each input the native instruction that computes its gradient and what that reads, see
            `evonorm/kernels/plan/adjoints.py`. None where the native kernel has no instruction for the function.
        lower: what the value is never below, given such a bound of each input; None if the laws say all there is.
        moment: "mean", "rms" or "std" if it aggregates ...
        index_set: ... over the index set of this name.
        searched: whether random graphs and mutations draw it.
    """

    name: str
    arity: int
    formula: Template
    latex: Template
    mathml: Template
    symbol: str
    torch: Template | None = None
    functions: tuple[str, ...] = ()
    numpy: Callable[..., Array] | None = None
    numpy_backward: Callable[..., tuple[Array, ...]] | None = None
    cost: int = 1
    laws: frozenset[str] = frozenset()
    adjoint: tuple[tuple[str, str], ...] | None = None
    lower: Callable[..., float] | None = None
    moment: str | None = None
    index_set: str | None = None
    needs_batch: bool = False
    """Whether the value of one sample depends on the others (then moving moments serve in eval mode)."""
    searched: bool = False

    @property
    def aggregates(self) -> bool:
        return self.moment is not None

    @property
    def is_function(self) -> bool:
        """Whether formulas write it as `name(...)` and not with an operator's sign."""
        return self.formula.text.startswith(f"{self.name}(")


def call_text(function: str, arity: int) -> str:
    """`function({0})` or `function({0}, {1})`."""
    return f"{function}({', '.join(f'{{{i}}}' for i in range(arity))})"


def call_mathml(symbol: str, arity: int) -> str:
    """The application of a named function; `symbol` is markup already."""
    inputs = "<mo>,</mo>".join(f"{{{i}}}" for i in range(arity))
    return f"<mrow><mi>{symbol}</mi><mo>\u2061</mo><mrow><mo>(</mo>{inputs}<mo>)</mo></mrow></mrow>"


def unless_cancelled(total: Array, terms: Array) -> Array:
    """The sum, zero where nothing but rounding is left of its terms."""
    cancelled = np.abs(total) <= CANCELLED * terms  # NaN stays: no comparison holds
    if cancelled.any():
        total[cancelled] = 0
    return total
