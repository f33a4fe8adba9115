"""Learning rates by name: the share of the full rate at a moment, a pure function of it.

Moments are counted in epochs where a recipe has them, in steps otherwise. The shapes are those of the official
TensorFlow code: a linear warm-up replaces the beginning of the schedule and does not shift the rest.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Course:
    """How long a run is, and where and how its rate falls; see `TrainingRecipe`."""

    length: float
    warmup: float = 0.0
    warmup_from: float = 0.0
    boundaries: tuple[float, ...] = ()
    factor: float = 0.1
    period: float = 1.0


def constant(now: float, course: Course) -> float:  # noqa: ARG001 (one face for all)
    return 1.0


def cosine(now: float, course: Course) -> float:
    """From 1 down to 0 at the end."""
    return 0.5 * (1 + math.cos(math.pi * now / course.length))


def steps(now: float, course: Course) -> float:
    """Times the factor at every boundary that has been reached."""
    return course.factor ** sum(now >= boundary for boundary in course.boundaries)


def exponential(now: float, course: Course) -> float:
    """Times the factor after every whole period: a staircase."""
    return course.factor ** math.floor(now / course.period)


SCHEDULES: dict[str, Callable[[float, Course], float]] = {
    "constant": constant,
    "cosine": cosine,
    "steps": steps,
    "exponential": exponential,
}


def share_of_rate(schedule: str, now: float, course: Course) -> float:
    """The share of the full rate, warm-up included."""
    if now >= course.warmup:
        return SCHEDULES[schedule](now, course)
    return course.warmup_from + (1 - course.warmup_from) * now / course.warmup
