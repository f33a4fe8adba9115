"""What a journal adds up to, kept up to date by reading only the rows that are new.

Counts, sums and the small table of scored candidates; everything else stays in SQL. `refresh` reads in slices and stops
when its time is up, so that a live page is never late: `behind` says how many outcomes are still unread.
"""

import json
import math
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evonorm.journal import Ranking, Reader
from evonorm.report.questions import ask
from evonorm.report.scored import Scored

SLICE = 2000  # outcomes per question ...
LEDGER_SLICE = 1000  # ... and where the stages have to be taken apart

_END = "SELECT (SELECT max(arrival) FROM outcomes), (SELECT max(idx) FROM proposals)"
_VERDICTS = """SELECT kind, test, steps = 0, count(*), sum(steps), sum(seconds) FROM outcomes
    WHERE arrival > ? AND arrival <= ? GROUP BY 1, 2, 3"""
_STEPS = "SELECT arrival, steps FROM outcomes WHERE arrival > ? AND arrival <= ? AND steps > 0"
_SCORED = """SELECT o.arrival, o.idx, json_extract(o.body, '$.accuracies'), p.origin = 'reference', p.body
    FROM outcomes o JOIN proposals p USING (idx)
    WHERE o.arrival > ? AND o.arrival <= ? AND o.average IS NOT NULL ORDER BY o.arrival"""
# Whole bodies: SQLite needs five times as long to take stages with curves in them apart.
_TRAINED = "SELECT kind, body FROM outcomes WHERE arrival > ? AND arrival <= ? AND steps > 0"


@dataclass
class Spent:
    """A row of the ledger: what one stage on one anchor cost in all, and how many it rejected."""

    candidates: int = 0
    steps: int = 0
    seconds: float = 0.0
    rejected: int = 0


@dataclass
class Tally:
    """One run up to the outcome number `read`; the ledger up to `ledger_read`."""

    read: int = 0
    ledger_read: int = 0
    last: int = 0  # outcome in the journal
    proposed: int = 0
    verdicts: Counter[tuple[str, str | None, bool]] = field(default_factory=Counter)  # (kind, test, without training)
    steps: int = 0
    seconds: float = 0.0
    scored: Scored = field(default_factory=Scored)
    references: dict[str, dict[str, float]] = field(default_factory=dict)
    ranking: Ranking = field(default_factory=Ranking)
    ledger: dict[tuple[str, str], Spent] = field(default_factory=dict)

    @property
    def behind(self) -> int:
        return self.last - min(self.read, self.ledger_read)

    @property
    def version(self) -> str:
        """Changes whenever there is something new to show; a ledger still being read counts once it is whole."""
        return f"{self.read}-{self.proposed}-{'reading' if self.behind else 'read'}"

    @property
    def pending(self) -> int:
        return max(0, self.proposed - self.verdicts.total() - (self.last - self.read))

    def count(self, kind: str) -> int:
        return sum(count for (each, _, _), count in self.verdicts.items() if each == kind)

    def refresh(self, reader: Reader, seconds: float | None = None) -> None:
        """Takes in what is new, for about this long but at least a slice: first what figures need, then the ledger."""
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        last, index = ask(reader, _END)[0]
        self.last, self.proposed = last or 0, 0 if index is None else index + 1
        if not self.read:
            for test, number in reader.left_out().items():
                self.verdicts["rejected", test, True] = number
        while self.behind:
            if self.read < self.last:
                self._read_on(reader, min(self.read + SLICE, self.last))
            else:
                self._charge(reader, min(self.ledger_read + LEDGER_SLICE, self.read))
            if time.monotonic() > deadline:
                return

    def _read_on(self, reader: Reader, end: int) -> None:
        arrivals, steps = _columns(ask(reader, _STEPS, (self.read, end)))
        spent = np.concatenate([[self.steps], self.steps + np.cumsum(steps, dtype=np.int64)])
        rows = ask(reader, _SCORED, (self.read, end))
        for row in rows:
            if row[3]:
                self.references[str(json.loads(row[4]).get("name"))] = json.loads(row[2])
        candidates = [row for row in rows if not row[3]]
        self.scored.extend(
            [row[1] for row in candidates],
            [int(spent[np.searchsorted(arrivals, row[0], "right")]) for row in candidates],
            [json.loads(row[2]) for row in candidates],
        )
        for kind, test, untrained, count, step_sum, second_sum in ask(reader, _VERDICTS, (self.read, end)):
            self.verdicts[kind, test, bool(untrained)] += count
            self.steps += step_sum
            self.seconds += second_sum
        self.ranking.extend(reader.runs(self.read, end))
        self.read = end

    def _charge(self, reader: Reader, end: int) -> None:
        for kind, text in ask(reader, _TRAINED, (self.ledger_read, end)):
            body = json.loads(text)
            for stage in body["stages"]:
                spent = self._spent(stage["name"], stage["anchor"])
                spent.candidates += 1
                spent.steps += stage["steps"]
                spent.seconds += stage["seconds"]
            if kind == "rejected":
                spent.rejected += 1
        self.ledger_read = end

    def _spent(self, stage: str, anchor: str) -> Spent:
        return self.ledger.setdefault((stage, anchor), Spent())


def _columns(rows: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
