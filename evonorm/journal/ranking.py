"""Functions by what their runs say on average: one lucky run does not win."""

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from evonorm.foundation import estimate, student_t
from evonorm.graph import Graph, canonical_key
from evonorm.journal.family import plain_formula
from evonorm.journal.outcomes import Scores, average
from evonorm.journal.reader import Candidate, Evaluation, Reader

LEAST_FREEDOM = 3  # below that, Student's t says next to nothing


@dataclass(frozen=True)
class Noise:
    """How far runs of one function lie apart: the standard deviation over all that were run more than once."""

    deviation: float = 0.0
    freedom: int = 0  # runs beyond the first of each

    def half(self, *runs: int) -> float | None:
        """Half a 95 % interval of a mean over so many runs, or of the difference of two; None where little is known."""
        if self.freedom < LEAST_FREEDOM:
            return None
        return student_t(self.freedom) * self.deviation * math.sqrt(sum(1 / each for each in runs))


NOTHING_KNOWN = Noise()


@dataclass(frozen=True)
class Ranked:
    """A function: the candidate of its best run, and what its runs say on average.

    A rejected run of a function that scored in another counts as accuracy zero, as it does in the search itself.
    """

    candidate: Candidate
    accuracies: dict[str, float]
    runs: int
    rejected_runs: int
    averages: tuple[float, ...] = ()  # of each run, from the best down
    noise: Noise = NOTHING_KNOWN  # of the run that it is from

    @property
    def average(self) -> float:
        return average(self.accuracies)

    @property
    def half(self) -> float | None:
        """Half the 95 % interval of the average: by what runs of all functions scatter, else by its own runs.

        None where one run is all there is to go by.
        """
        pooled = None if self.rejected_runs else self.noise.half(self.runs)
        return pooled if pooled is not None or not self.averages else estimate(self.averages).half

    @property
    def graph(self) -> Graph:
        """As it was trained, dead nodes included."""
        return self.candidate.proposal.graph

    @property
    def formula(self) -> str:
        """Simplified, for people; `str(graph)` is as it was found."""
        return plain_formula(self.graph)


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

    def best(self, reader: Reader, length: int | None) -> list[Ranked]:
        """The first of the ranking, ties to the earlier one; the reader is of the journal that the runs are from."""
        noise = self.noise()
        found = heapq.nlargest(length or len(self._places), self._places, key=self._places.__getitem__)
        return [_ranked(reader, self._runs[function], noise) for function in found]

    def noise(self) -> Noise:
        """Over the functions that were scored more than once and never rejected."""
        squares, freedom = 0.0, 0
        for runs in self._runs.values():
            scores = [run.average for run in runs if run.average is not None]
            if len(scores) == len(runs) > 1:
                mean = math.fsum(scores) / len(scores)
                squares += math.fsum((each - mean) ** 2 for each in scores)
                freedom += len(scores) - 1
        return Noise(math.sqrt(squares / freedom), freedom) if freedom else NOTHING_KNOWN


def leaderboard(reader: Reader, length: int | None) -> list[Ranked]:
    """The best functions of a journal; None is all of them."""
    return Ranking(reader.evaluations()).best(reader, length)


def _ranked(reader: Reader, runs: list[Evaluation], noise: Noise) -> Ranked:
    scored = sorted(
        (run for run in runs if run.average is not None), key=lambda run: (-(run.average or 0.0), run.index)
    )
    candidates = [reader.candidate(run.index) for run in scored]
    scores = [each.outcome for each in candidates if isinstance(each.outcome, Scores)]
    means = {
        anchor: math.fsum(each.accuracies[anchor] for each in scores) / len(runs) for anchor in scores[0].accuracies
    }
    averages = tuple(sorted((run.average or 0.0 for run in runs), reverse=True))
    return Ranked(candidates[0], means, len(runs), len(runs) - len(scored), averages, noise)


@lru_cache(maxsize=100_000)  # a live display asks again with every score
def _form(graph: str) -> str:
    return canonical_key(Graph.decode(graph))
