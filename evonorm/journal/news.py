"""What has come into a journal behind an outcome that is known, for whoever keeps a tally of it."""

import json
from dataclasses import dataclass

from evonorm.journal.reader import Reader, sensible
from evonorm.journal.words import CandidateVerdict

_END = "SELECT (SELECT max(arrival) FROM outcomes), (SELECT max(idx) FROM proposals)"
_VERDICTS = """SELECT kind, test, rung, steps = 0, count(*), sum(steps), sum(seconds) FROM outcomes
    WHERE arrival > ? AND arrival <= ? GROUP BY 1, 2, 3, 4"""
_STEPS = "SELECT arrival, steps FROM outcomes WHERE arrival > ? AND arrival <= ? AND steps > 0"
_SCORED = """SELECT o.arrival, o.idx, json_extract(o.body, '$.accuracies'), p.origin = 'reference', p.body
    FROM outcomes o JOIN proposals p USING (idx)
    WHERE o.arrival > ? AND o.arrival <= ? AND o.average IS NOT NULL ORDER BY o.arrival"""


@dataclass(frozen=True)
class Counted:
    """How many outcomes have one verdict, and what they cost."""

    verdict: CandidateVerdict
    untrained: bool
    number: int
    steps: int
    seconds: float


@dataclass(frozen=True)
class ScoredRow:
    """A candidate that was scored; a reference has its name."""

    arrival: int
    index: int
    accuracies: dict[str, float]
    reference: str | None


def end_of_journal(reader: Reader) -> tuple[int, int]:
    """The number of the last outcome, and how many were proposed."""
    last, index = reader.ask(_END)[0]
    return last or 0, 0 if index is None else index + 1


def new_verdicts(reader: Reader, after: int, until: int) -> list[Counted]:
    rows = reader.ask(_VERDICTS, (after, until))
    return [
        Counted(CandidateVerdict(kind, test, rung), bool(untrained), *rest)
        for kind, test, rung, untrained, *rest in rows
    ]


def new_steps(reader: Reader, after: int, until: int) -> list[tuple[int, int]]:
    """Number of arrival and training steps of each outcome that trained."""
    return reader.ask(_STEPS, (after, until))


def new_scores(reader: Reader, after: int, until: int) -> list[ScoredRow]:
    with sensible("a candidate's scores"):
        return [
            ScoredRow(
                arrival, index, dict(json.loads(accuracies)), str(json.loads(body).get("name")) if named else None
            )
            for arrival, index, accuracies, named, body in reader.ask(_SCORED, (after, until))
        ]
