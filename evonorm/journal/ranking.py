"""Functions by what their runs say on average: one lucky run does not win."""

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from evonorm.graph import Graph, canonical_key
from evonorm.journal.outcomes import Scores, average
from evonorm.journal.reader import Candidate, Evaluation, Reader


@dataclass(frozen=True)
class Ranked:
    """A function: the candidate of its best run, and what its runs say on average.

    A rejected run of a function that scored in another counts as accuracy zero, as it does in the search itself.
    """

    candidate: Candidate
    accuracies: dict[str, float]
    runs: int
    rejected_runs: int

    @property
    def average(self) -> float:
        return average(self.accuracies)


class Ranking:
    """Takes in evaluations in any order. They are one function as far as fingerprint, or else canonical form, tells."""

    def __init__(self, runs: Iterable[Evaluation] = ()) -> None:
        self._runs: dict[str, list[Evaluation]] = defaultdict(list)
        self._places: dict[str, tuple[float, int]] = {}  # of functions that scored: mean, and minus the first index
        self.extend(runs)

    def extend(self, runs: Iterable[Evaluation]) -> None:
        for run in runs:
            function = run.function or _form(run.graph)
            every = self._runs[function]
            every.append(run)
            scored = [each for each in every if each.average is not None]
            if scored:
                mean = math.fsum(each.average or 0.0 for each in every) / len(every)
                self._places[function] = mean, -min(each.index for each in scored)

    def best(self, reader: Reader, length: int) -> list[Ranked]:
        """The first of the ranking, ties to the earlier one; the reader is of the journal that the runs are from."""
        found = heapq.nlargest(length, self._places, key=self._places.__getitem__)
        return [_ranked(reader, self._runs[function]) for function in found]


def leaderboard(reader: Reader, length: int) -> list[Ranked]:
    """The best functions of a journal."""
    return Ranking(reader.evaluations()).best(reader, length)


def _ranked(reader: Reader, runs: list[Evaluation]) -> Ranked:
    scored = sorted(
        (run for run in runs if run.average is not None), key=lambda run: (-(run.average or 0.0), run.index)
    )
    candidates = [reader.candidate(run.index) for run in scored]
    scores = [each.outcome for each in candidates if isinstance(each.outcome, Scores)]
    means = {
        anchor: math.fsum(each.accuracies[anchor] for each in scores) / len(runs) for anchor in scores[0].accuracies
    }
    return Ranked(candidates[0], means, len(runs), len(runs) - len(scored))


@lru_cache(maxsize=100_000)  # a live display asks again with every score
def _form(graph: str) -> str:
    return canonical_key(Graph.decode(graph))
