"""From values to pixels, and where the ticks go."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Maps low..high to the pixels start..end; `log` counts in powers of ten."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        share = self._share_of_decades(value) if self.log else (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def _share_of_decades(self, value: float) -> float:
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self, wanted: int = 5, least: float = 0.0) -> list[float]:
        """About so many round values, at least `least` apart."""
        if self.log:
            return [
                10.0**power for power in range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            ]
        step = nice_step(max((self.high - self.low) / wanted, least))
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def nice_step(rough: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))


def padded(
    values: list[float], least: float, lowest: float = -math.inf, highest: float = math.inf
) -> tuple[float, float]:
    """The range of finite values with some room around, at least `least` wide, cut to lowest..highest."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    room = max((least - (high - low)) / 2, (high - low) * 0.06)
    return max(lowest, low - room), min(highest, high + room)


def tick_text(value: float) -> str:
    """A short number for a tick: 20000 is 20k, 0.30000000000000004 is 0.3."""
    if value == 0:
        return "0"
    if abs(value) >= 1e10:
        return f"{value:.4g}"
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size * (10 if letter == "k" else 1):
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"
