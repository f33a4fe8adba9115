"""Learning rates by name: the share of the full rate at an update, a pure function of its number, counted from 0."""

import math
from collections.abc import Callable


def constant(step: int, steps: int) -> float:  # noqa: ARG001 (one face for all)
    return 1.0


def cosine(step: int, steps: int) -> float:
    """From 1 down to 0 at the last step."""
    return 0.5 * (1 + math.cos(math.pi * step / steps))


SCHEDULES: dict[str, Callable[[int, int], float]] = {"constant": constant, "cosine": cosine}
