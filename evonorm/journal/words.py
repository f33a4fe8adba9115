"""The words of a search, each with one owner: tests and stages, origins, why a session ended; and what they mean.

They are stored and shown by their text, so a text that is none of them (the test of a fitness of your own, the origin
of an older version) is a word as well: one that has no explanation here.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple

Kind = Literal["scores", "rejected", "failed", "pending"]  # of an outcome; the last one is none yet


class _Word(StrEnum):
    """A word with its explanation."""

    words: str

    def __new__(cls, text: str, words: str) -> "_Word":
        member = str.__new__(cls, text)
        member._value_ = text
        member.words = words
        return member

    @classmethod
    def explain(cls, text: str) -> str | None:
        return next((member.words for member in cls if member == text), None)


class Test(_Word):
    """What can turn a candidate down, and why it does. The last four are stages of an evaluation; they train."""

    __test__ = False  # none of pytest's

    READS_X = "free:reads-x", "the output does not depend on x"
    NO_BATCH_MOMENT = "free:no-batch-moment", "it holds a moment over the batch, which the recipe rules out"
    FINITE = "free:finite", "output or gradient is not finite on ordinary inputs"
    VARIES_OVER_SPACE = "free:varies-over-space", "the output is the same at every pixel of a map"
    GRADIENT = "free:gradient", "no gradient comes back"
    FINITE_ON_HARD_INPUTS = (
        "free:finite-on-hard-inputs",
        "not finite on inputs that training may meet, such as zeros or one bright pixel",
    )
    DEPTH_SIGNAL = "free:depth-signal", "the signal grows, shrinks or goes blind through a deep random net"
    BENDS = "free:bends", "a straight line within every map, so that depth adds nothing"
    DUPLICATE = "duplicate", "equal, as a function, to one that was rejected before or is in training"
    CLONE = "clone", "nearly the same function as one that was scored before or is in training"
    RUNG = "rung", "too low after a rung of the ladder"
    QUALITY = "quality", "after a short training the accuracy was still too low"
    STABILITY = "stability", "the gradient explodes when weights are moved towards larger gradients"
    TRAINING = "training", "the loss was no longer finite in the final training"


FREE_CHECKS = (
    Test.READS_X,
    Test.NO_BATCH_MOMENT,
    Test.FINITE,
    Test.VARIES_OVER_SPACE,
    Test.GRADIENT,
    Test.FINITE_ON_HARD_INPUTS,
)
DEPTH_CHECKS = (Test.DEPTH_SIGNAL, Test.BENDS)


class Origin(_Word):
    """Where a proposal comes from."""

    RANDOM = "random", "drawn at random"
    MUTATION = "mutation", "mutated from its parent"
    LOCAL_MUTATION = "local mutation", "its parent with one change at a live node"
    REFERENCE = "reference", "a known layer to compare with"
    RETRY = "retry", "tried again by hand, after its evaluation failed"


class End(_Word):
    """Why a session ended: the bound that was met, or somebody's wish."""

    MINUTES = "minutes", "its time was up"
    CANDIDATES = "candidates", "it had its number of candidates"
    STEPS = "steps", "its training steps were spent"
    PROPOSALS = "proposals", "it had its number of proposals"
    STOPPED = "stopped", "somebody stopped it"


class Event(StrEnum):
    """What the journal notes beside proposals and outcomes."""

    SESSION_STARTED = "session started"
    SESSION_ENDED = "session ended"
    NOT_REPRODUCIBLE = "not reproducible"
    ATTEMPT_FAILED = "attempt failed"
    REFERENCE_FROM_CACHE = "reference from the cache"
    LEFTOVERS_ENDED = "leftover workers ended"
    REPAIRED = "journal repaired"
    RETRIED = "tried again"
    HOST_JOINED = "host joined"
    HOST_LOST = "host lost"
    HOST_REFUSED = "host refused"


def label(test: str, rung: int | None) -> str:
    """A test or stage for people: its name, and the number where it is a rung."""
    return test if rung is None else f"{test} {rung}"


class StageKey(NamedTuple):
    """Which stage of an evaluation: two evaluations compare stage by stage."""

    name: str
    anchor: str
    rung: int | None = None  # of the ladder, counted from 1

    @property
    def label(self) -> str:
        return label(self.name, self.rung)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "StageKey":
        """Of what an evaluation announces or stores; one of your own need not name an anchor."""
        return cls(str(data.get("name", "")), str(data.get("anchor", "")), data.get("rung"))


class CandidateVerdict(NamedTuple):
    """The heading under which outcomes are counted."""

    kind: Kind
    test: str | None = None  # that rejected
    rung: int | None = None

    @property
    def label(self) -> str:
        return self.kind if self.test is None else label(self.test, self.rung)
