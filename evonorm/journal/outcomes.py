"""What came of a candidate, as values (design: exceptions are for mistakes, not for bad candidates).

Every outcome turns into a JSON object and back, since that is what crosses a process border and what the journal keeps.
"""

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Stage:
    """One stage of an evaluation and what it cost."""

    name: str  # "quality", "stability", "training", ...
    anchor: str
    steps: int
    seconds: float
    figures: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.steps >= 0 and 0 <= self.seconds < math.inf):
            raise ValueError(
                f"stage {self.name}: steps and seconds must not be negative, got {self.steps}, {self.seconds}."
            )


@dataclass(frozen=True)
class Scores:
    """The candidate passed every test: its validation accuracy (0 to 1) on each anchor."""

    accuracies: dict[str, float]
    stages: tuple[Stage, ...] = ()

    def __post_init__(self) -> None:
        if not self.accuracies:
            raise ValueError("scores need the accuracy on at least one anchor.")
        for anchor, accuracy in self.accuracies.items():
            if not 0 <= accuracy <= 1:  # NaN fails this too: NaN never wins
                raise ValueError(f"the accuracy on {anchor} must lie in 0 to 1, got {accuracy!r}.")

    @property
    def average(self) -> float:
        return math.fsum(self.accuracies.values()) / len(self.accuracies)


@dataclass(frozen=True)
class Rejected:
    """A test turned the candidate down: which test, on which anchor, and the figures that decided."""

    test: str
    anchor: str | None
    figures: dict[str, Any] = field(default_factory=dict)
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True)
class Failed:
    """The evaluation itself broke: a crash, a time limit, an error that is not the candidate's."""

    error: str
    stages: tuple[Stage, ...] = ()


Outcome = Scores | Rejected | Failed
_KINDS: dict[str, type[Scores] | type[Rejected] | type[Failed]] = {
    "scores": Scores,
    "rejected": Rejected,
    "failed": Failed,
}


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """A JSON object with the outcome's kind under "kind"."""
    kind = next(name for name, each in _KINDS.items() if isinstance(outcome, each))
    stages = [
        dict(vars(stage)) for stage in outcome.stages
    ]  # asdict would copy every figure, at a fifth of the driver's time
    return {"kind": kind, **vars(outcome), "stages": stages}


def outcome_from_json(data: dict[str, Any]) -> Outcome:
    """The inverse of `outcome_to_json`; raises ValueError on anything else."""
    try:
        fields = dict(data)
        fields["stages"] = tuple(Stage(**stage) for stage in fields.get("stages", ()))
        return _KINDS[fields.pop("kind")](**fields)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is not an outcome ({error!r}): {str(data)[:200]}") from error
