"""What is known of each function that was trained: equal layers share their scores. Not in the paper.

Half of the paper's own top ten for the S series is one layer. A score that is looked up costs nothing, but a lucky one
must not live for ever, so the best are trained again under fresh seeds and averaged, up to a limit.
"""

from collections.abc import Callable
from dataclasses import dataclass

from evonorm.journal import Outcome, Rejected, Scores, Test, average


@dataclass(frozen=True)
class Known:
    """The runs of one function so far: the average of their accuracies, or the test that turned the first one down."""

    runs: int
    accuracies: dict[str, float]
    rejected_by: str | None = None

    @property
    def average(self) -> float:
        return average(self.accuracies)


class KnownFunctions:
    """Remembers a few numbers for each distinct function that was trained, for as long as the search runs."""

    def __init__(self, most_runs: int) -> None:
        self.most_runs = most_runs  # 0: nothing is remembered
        self._known: dict[str, Known] = {}

    def settle(self, function: str, is_elite: Callable[[float], bool]) -> Rejected | Scores | None:
        """The outcome of a new candidate that is this function, unless it is worth a run of its own."""
        known = self._known.get(function)
        if known is None:
            return None
        if known.rejected_by is not None:
            return Rejected(Test.DUPLICATE, None, {"rejected_by": known.rejected_by})
        if known.runs < self.most_runs and is_elite(known.average):
            return None
        return Scores(known.accuracies)

    def runs(self, function: str | None) -> int:
        """How many of this function are known."""
        known = self._known.get(function) if function else None
        return known.runs if known else 0

    def learn(self, function: str, outcome: Outcome) -> Known | None:
        """Takes a run in; returns what is now known, None if that is nothing. A broken run says nothing of a layer."""
        before = self._known.get(function)
        if not self.most_runs or not isinstance(outcome, Scores | Rejected):
            return None
        if isinstance(outcome, Scores):
            now = _averaged(before, outcome.accuracies)
        elif before is None or before.rejected_by is not None:
            now = Known(1, {}, outcome.verdict.label)
        else:  # it passed before: this run counts, as one that learnt nothing
            now = _averaged(before, dict.fromkeys(before.accuracies, 0.0))
        self._known[function] = now
        return now


def _averaged(before: Known | None, accuracies: dict[str, float]) -> Known:
    if before is None or before.rejected_by is not None:
        return Known(1, dict(accuracies))
    runs = before.runs + 1
    return Known(runs, {a: (before.accuracies[a] * before.runs + accuracies[a]) / runs for a in accuracies})
