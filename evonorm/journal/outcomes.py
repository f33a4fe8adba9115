"""What came of a candidate, as values (design: exceptions are for mistakes, not for bad candidates).

Every outcome turns into a JSON object and back, since that is what crosses a process border and what the journal keeps.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from evonorm.journal.words import CandidateVerdict, StageKey, label
from evonorm.workers import Reason


@dataclass(frozen=True)
class Stage:
    """One stage of an evaluation and what it cost."""

    name: str  # a `Test`, or whatever a fitness of your own calls it
    anchor: str
    steps: int
    seconds: float
    figures: dict[str, Any] = field(default_factory=dict)
    rung: int | None = None  # of the ladder, counted from 1

    def __post_init__(self) -> None:
        if not (self.steps >= 0 and 0 <= self.seconds < math.inf):
            raise ValueError(
                f"stage {self.label}: steps and seconds must not be negative, got {self.steps}, {self.seconds}."
            )

    @property
    def key(self) -> StageKey:
        return StageKey(self.name, self.anchor, self.rung)

    @property
    def label(self) -> str:
        return label(self.name, self.rung)

    def to_json(self) -> dict[str, Any]:
        # asdict would copy every figure, at a fifth of the driver's time
        return {key: value for key, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Scores:
    """The candidate passed every test: its validation accuracy (0 to 1) on each anchor.

    These are what a search compares: shares, and more is better. Measures of other kinds (an FID, say) stand in the
    `figures` of the stage that took them, as the task names them; a search that is to go by one needs it as a share.
    """

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
        return average(self.accuracies)

    @property
    def verdict(self) -> CandidateVerdict:
        return CandidateVerdict("scores")

    def __str__(self) -> str:
        return f"scored {100 * self.average:.2f} % on average"


@dataclass(frozen=True)
class Rejected:
    """A test turned the candidate down: which test, on which anchor, and the figures that decided."""

    test: str  # a `Test`, or one of a fitness of your own
    anchor: str | None
    figures: dict[str, Any] = field(default_factory=dict)
    stages: tuple[Stage, ...] = ()
    rung: int | None = None  # of the ladder, where that was the test

    @property
    def verdict(self) -> CandidateVerdict:
        return CandidateVerdict("rejected", self.test, self.rung)

    def __str__(self) -> str:
        return f"rejected by the test {self.verdict.label!r}" + (f" on {self.anchor}" if self.anchor else "")


@dataclass(frozen=True)
class Failed:
    """The evaluation itself broke: a crash, a time limit, an error that is not the candidate's."""

    reason: Reason
    error: str
    stages: tuple[Stage, ...] = ()

    @property
    def verdict(self) -> CandidateVerdict:
        return CandidateVerdict("failed")

    def __str__(self) -> str:
        return "failed: " + (self.error if self.reason == "error" else f"{self.reason}, {self.error}")


Outcome = Scores | Rejected | Failed
_KINDS: dict[str, type[Scores] | type[Rejected] | type[Failed]] = {
    "scores": Scores,
    "rejected": Rejected,
    "failed": Failed,
}


def average(accuracies: dict[str, float]) -> float:
    """Over the anchors: what layers are ranked by."""
    return math.fsum(accuracies.values()) / len(accuracies)


def verdict_words(outcome: Outcome | None) -> str:
    """What came of a candidate, in a few words."""
    return "in work" if outcome is None else str(outcome)


def figure_words(figures: dict[str, Any]) -> str:
    """The figures that fit on a line; curves are drawn, or stay in the journal."""
    plain = {key: each for key, each in figures.items() if not isinstance(each, list | dict)}
    return ", ".join(f"{key} {each:.4g}" if isinstance(each, float) else f"{key} {each}" for key, each in plain.items())


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """A JSON object with the outcome's kind under "kind"."""
    fields = {key: value for key, value in vars(outcome).items() if key != "rung" or value is not None}
    return {"kind": outcome.verdict.kind, **fields, "stages": [stage.to_json() for stage in outcome.stages]}


def outcome_from_json(data: dict[str, Any]) -> Outcome:
    """The inverse of `outcome_to_json`; raises ValueError on anything else. A failure may come without a reason."""
    try:
        fields = dict(data)
        fields["stages"] = tuple(Stage(**stage) for stage in fields.get("stages", ()))
        kind = _KINDS[fields.pop("kind")]
        return kind(**({"reason": "error"} if kind is Failed else {}) | fields)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is not an outcome ({error!r}): {str(data)[:200]}") from error
