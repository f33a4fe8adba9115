"""Questions to a journal, also while a search writes it."""

import json
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evonorm.journal.chain import HEADER_SEAL, WRITER
from evonorm.journal.outcomes import Outcome, outcome_from_json
from evonorm.journal.proposals import Proposal, proposal_from_row
from evonorm.journal.schema import (
    LEFT_OUT,
    DamagedJournalError,
    JournalError,
    NoSuchCandidateError,
    check_whole,
    explained,
    harmless_text,
    open_for_reading,
)
from evonorm.journal.words import CandidateVerdict

_CANDIDATE = "p.idx, p.graph, p.origin, p.free, p.body, o.kind, o.body, o.steps, o.seconds, o.arrival"
_JOINED = f"SELECT {_CANDIDATE} FROM proposals p LEFT JOIN outcomes o USING (idx)"  # noqa: S608 (our own words)
# A search proposes its references first, so there is no need to look through all proposals.
_REFERENCES = f"{_JOINED} WHERE p.idx < 1000 AND p.origin = 'reference' ORDER BY p.idx"
_VERDICTS = "SELECT kind, test, rung, count(*) FROM outcomes GROUP BY kind, test, rung"
_SETTLED = """SELECT kind, test, rung, count(*) FROM outcomes JOIN proposals USING (idx) WHERE free
    GROUP BY kind, test, rung"""
_EVALUATIONS = """
    SELECT idx, graph, proposals.body ->> 'function' AS function, average FROM outcomes JOIN proposals USING (idx)
    WHERE NOT free AND origin != 'reference' AND (average IS NOT NULL OR (kind = 'rejected' AND function IS NOT NULL))
    AND arrival > ? AND arrival <= ?"""
_BEST_AVERAGE = """SELECT average FROM outcomes JOIN proposals USING (idx)
    WHERE average IS NOT NULL AND origin != 'reference' ORDER BY average DESC LIMIT 1"""
_BEST_BY_ANCHOR = """
    SELECT each.key, max(each.value)
    FROM outcomes o JOIN proposals p USING (idx), json_each(o.body, '$.accuracies') each
    WHERE o.average IS NOT NULL AND p.origin != 'reference' AND json_valid(o.body) GROUP BY each.key"""
_SLICES = {  # from a place on, with the column of a row that holds its place
    "index": (f"{_JOINED} WHERE p.idx > ? ORDER BY p.idx LIMIT 2000", 0),
    "arrival": (f"{_JOINED} WHERE o.arrival > ? ORDER BY o.arrival LIMIT 2000", 9),
}


@dataclass(frozen=True)
class Candidate:
    """A proposal with what came of it so far, and what that cost."""

    proposal: Proposal
    outcome: Outcome | None
    steps: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Noted:
    """An event: what was noted, and when. A later one has a larger id."""

    id: int
    time: float
    body: dict[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """A run that was paid for, of a layer that scored or of a function that is told by its fingerprint."""

    index: int
    graph: str  # encoded
    function: str | None
    average: float | None  # None where it was rejected


class Reader:
    """A read-only view. Every question is one short transaction; `candidates` reads in slices for the same reason."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = open_for_reading(path)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, question: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """SQL, for this room alone: everybody else asks in words."""
        with explained(self.path):
            return self.connection.execute(question, values).fetchall()

    def check(self) -> dict[str, int]:
        """Reads all of it and raises where it is not what was written; see `check_whole`."""
        with explained(self.path):
            try:
                return check_whole(self.connection, self.path)
            finally:
                self.connection.text_factory = harmless_text

    def header(self) -> dict[str, Any]:
        rows = self.ask("SELECT key, value FROM header")
        return {key: _parsed(value, f"header, {key}") for key, value in rows if key not in (HEADER_SEAL, WRITER)}

    def candidates(self, order: str = "index") -> Iterator[Candidate]:
        """Every candidate, by proposal or by arrival; those without an outcome come last in the latter."""
        question, column = _SLICES[order]
        place = -1
        while rows := self.ask(question, (place,)):
            yield from map(_candidate, rows)
            place = rows[-1][column]
        if order == "arrival":
            yield from self.pending()

    def candidate(self, index: int) -> Candidate:
        rows = self.ask(f"{_JOINED} WHERE p.idx = ?", (index,))
        if not rows:
            last = self.ask("SELECT max(idx) FROM proposals")[0][0]
            if self.left_out() and 0 <= index <= last:
                raise NoSuchCandidateError(
                    f"candidate {index} was turned down without training and left out of a slim export."
                )
            known = "there is none yet" if last is None else f"they are numbered 0 to {last}"
            raise NoSuchCandidateError(f"the run has no candidate {index}; {known}.")
        return _candidate(rows[0])

    def evaluations(self, after: int = 0, until: int = sys.maxsize) -> list[Evaluation]:
        """What an average over the runs of a function needs; references and reused scores are not among them.

        All of them, or those behind one outcome and up to another, by number of arrival.
        """
        return [Evaluation(*row) for row in self.ask(_EVALUATIONS, (after, until))]

    def best_average(self) -> float | None:
        """Of all single runs, references not among them."""
        rows = self.ask(_BEST_AVERAGE)
        return float(rows[0][0]) if rows else None

    def best_by_anchor(self) -> dict[str, float]:
        """The best accuracy on each anchor, references not among them; reads every score once."""
        return dict(self.ask(_BEST_BY_ANCHOR))

    def references(self) -> list[Candidate]:
        return [_candidate(row) for row in self.ask(_REFERENCES)]

    def pending(self) -> list[Candidate]:
        """Proposals without an outcome: what was in flight."""
        return [_candidate(row) for row in self.ask(f"{_JOINED} WHERE o.idx IS NULL ORDER BY p.idx")]

    def verdicts(self) -> dict[CandidateVerdict, int]:
        """How many outcomes of each kind, rejections by their test; those that are pending have none yet."""
        found = self._with_left_out(self.ask(_VERDICTS))
        found[CandidateVerdict("pending")] = self.proposed() - sum(found.values())
        return found

    def settled_at_once(self) -> dict[CandidateVerdict, int]:
        """How many proposals never went to a worker: scores that an equal layer had, and rejections by their test."""
        return self._with_left_out(self.ask(_SETTLED))

    def proposed(self) -> int:
        return int(self.ask("SELECT count(*) FROM proposals")[0][0]) + sum(self.left_out().values())

    def left_out(self) -> dict[str, int]:
        """How many a slim export counted instead of holding them, by the test that turned them down."""
        rows = self.ask("SELECT value FROM header WHERE key = ?", (LEFT_OUT,))
        return _parsed(rows[0][0], f"header, {LEFT_OUT}") if rows else {}

    def _with_left_out(self, rows: list[tuple[Any, ...]]) -> dict[CandidateVerdict, int]:
        """Verdicts and their numbers, those of a slim export's left-out candidates added, by name."""
        found = Counter({CandidateVerdict(*verdict): number for *verdict, number in rows})
        found.update({CandidateVerdict("rejected", test): number for test, number in self.left_out().items()})
        return dict(sorted(found.items(), key=lambda item: item[0].label))

    def cost(self) -> tuple[int, float]:
        """Training steps and worker seconds of all outcomes."""
        steps, seconds = self.ask("SELECT coalesce(sum(steps), 0), coalesce(sum(seconds), 0) FROM outcomes")[0]
        return int(steps), float(seconds)

    def events(self, kind: str) -> list[tuple[float, dict[str, Any]]]:
        """Time and body of each event of this kind, oldest first."""
        rows = self.ask("SELECT time, body FROM events WHERE kind = ? ORDER BY id", (kind,))
        return [(when, _parsed(body, f"an event {kind!r}")) for when, body in rows]

    def last_event(self, kind: str) -> Noted | None:
        rows = self.ask("SELECT id, time, body FROM events WHERE kind = ? ORDER BY id DESC LIMIT 1", (kind,))
        return Noted(rows[0][0], rows[0][1], _parsed(rows[0][2], f"event {rows[0][0]}")) if rows else None


@contextmanager
def sensible(what: str) -> Iterator[None]:
    """Around what reads stored JSON: a row that says nothing sensible is told as that."""
    try:
        yield
    except JournalError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedJournalError(f"the journal's {what}: not what an evonorm writes ({error}).") from error


def _parsed(text: str, what: str) -> Any:
    with sensible(what):
        return json.loads(text)


def _candidate(row: sqlite3.Row) -> Candidate:
    index, graph, origin, free, proposal_body, kind, outcome_body, steps, seconds, _ = row
    with sensible(f"candidate {index}"):
        outcome = None if kind is None else outcome_from_json({"kind": kind, **json.loads(outcome_body)})
        proposal = proposal_from_row(index, graph, origin, json.loads(proposal_body), outcome if free else None)
    return Candidate(proposal, outcome, steps or 0, seconds or 0.0)
