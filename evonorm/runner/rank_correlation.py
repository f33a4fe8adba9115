"""Do two figures order things alike? Rank correlations with bootstrap intervals.

scipy is no dependency of the package, and this is a few lines; a test holds the values against scipy's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
CONFIDENCE = 0.95
LEAST_FOR_INTERVAL = 6  # resamples of fewer are so much alike that the interval looks certain

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Correlation:
    """A correlation over n things and its percentile bootstrap interval; NaN where one is not defined."""

    n: int
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if np.isnan(self.value):
            return "-"
        if self.n < LEAST_FOR_INTERVAL:
            return f"{self.value:.2f} (n = {self.n})"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def ranks(values: Sequence[float] | Array) -> Array:
    """From 1 up; equal values share the average of their ranks. Infinities are values like others."""
    numbers = np.asarray(values, dtype=float)
    assert not np.isnan(numbers).any(), "NaN has no rank"
    _, group, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[group]


def spearman(a: Sequence[float] | Array, b: Sequence[float] | Array) -> float:
    """Pearson's correlation of the ranks; NaN where all of one side are equal."""
    from_mean = [each - each.mean() for each in (ranks(a), ranks(b))]
    lengths = [np.sqrt(each @ each) for each in from_mean]
    return float(from_mean[0] @ from_mean[1] / (lengths[0] * lengths[1])) if all(lengths) else float("nan")


def kendall(a: Sequence[float] | Array, b: Sequence[float] | Array) -> float:
    """Kendall's tau-b: pairs in the same order less pairs in the other, ties taken out of account."""
    signs = [np.sign(each[:, None] - each) for each in (ranks(a), ranks(b))]
    pairs = [np.square(each).sum() for each in signs]
    return float((signs[0] * signs[1]).sum() / np.sqrt(pairs[0] * pairs[1])) if all(pairs) else float("nan")


def correlate(
    a: Sequence[float],
    b: Sequence[float],
    rng: np.random.Generator,
    statistic: Callable[[Array, Array], float] = spearman,
    resamples: int = RESAMPLES,
) -> Correlation:
    """The correlation with the interval over resamples of the pairs; those without two distinct values are left out."""
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    n = len(first)
    value = statistic(first, second) if n > 1 else float("nan")
    if np.isnan(value):
        return Correlation(n, float("nan"), float("nan"), float("nan"))
    draws = rng.integers(n, size=(resamples, n))
    found = np.array([statistic(first[draw], second[draw]) for draw in draws])
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(found[~np.isnan(found)], [tail, 100 - tail])
    return Correlation(n, value, float(low), float(high))
