"""How sure a mean is: its interval by Student's t, for every table and figure that shows one."""

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over n values; its interval reaches `half` to either side, None where one value says nothing of it."""

    mean: float
    n: int
    half: float | None

    @property
    def low(self) -> float | None:
        return None if self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        return None if self.half is None else self.mean + self.half

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side of zero: less than that is noise."""
        return self.half is not None and abs(self.mean) > self.half


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The mean of values that are independent draws, such as trainings that differ in their seed."""
    if not values:
        raise ValueError("a mean needs at least one value, got none.")
    mean, n = statistics.fmean(values), len(values)
    if n == 1:
        return Estimate(mean, n, None)
    return Estimate(mean, n, student_t(n - 1, confidence) * math.sqrt(statistics.variance(values) / n))


@functools.lru_cache(256)
def student_t(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Within how many standard errors Student's t with so many degrees of freedom lies with this probability."""
    if freedom < 1:
        raise ValueError(f"Student's t needs at least one degree of freedom, got {freedom}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}.")
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _share_within(middle, freedom) < confidence else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _share_within(angle: float, freedom: int) -> float:
    """The probability of |t| < sqrt(freedom) tan(angle): a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = sine * cosine if odd else sine
    total = 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (k - 1) / k
    return 2 / math.pi * (angle + total) if odd else total
