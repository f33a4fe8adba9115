"""What a journal adds up to, kept up to date by reading only the rows that are new.

Counts, sums and the small table of scored candidates; everything else stays in the journal. `refresh` reads in slices
and stops when its time is up, so that a live page is never late: `behind` says how many outcomes are still unread.
"""

import math
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from evonorm.journal import (
    CandidateVerdict,
    Ledger,
    Ranking,
    Reader,
    end_of_journal,
    new_scores,
    new_steps,
    new_verdicts,
)
from evonorm.report.scored import Scored

SLICE = 2000  # outcomes per question ...
LEDGER_SLICE = 1000  # ... and where the stages have to be taken apart


@dataclass
class Tally:
    """One run up to the outcome number `read`; the ledger up to `ledger_read`."""

    read: int = 0
    ledger_read: int = 0
    last: int = 0  # outcome in the journal
    proposed: int = 0
    verdicts: Counter[tuple[CandidateVerdict, bool]] = field(
        default_factory=Counter
    )  # with whether nothing was trained
    steps: int = 0
    seconds: float = 0.0
    scored: Scored = field(default_factory=Scored)
    references: dict[str, dict[str, float]] = field(default_factory=dict)
    ranking: Ranking = field(default_factory=Ranking)
    ledger: Ledger = field(default_factory=Ledger)

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
        return sum(count for (verdict, _), count in self.verdicts.items() if verdict.kind == kind)

    def refresh(self, reader: Reader, seconds: float | None = None) -> None:
        """Takes in what is new, for about this long but at least a slice: first what figures need, then the ledger."""
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        self.last, self.proposed = end_of_journal(reader)
        if not self.read:
            for test, number in reader.left_out().items():
                self.verdicts[CandidateVerdict("rejected", test), True] = number
        while self.behind:
            if self.read < self.last:
                self._read_on(reader, min(self.read + SLICE, self.last))
            else:
                end = min(self.ledger_read + LEDGER_SLICE, self.read)
                self.ledger.read_on(reader, self.ledger_read, end)
                self.ledger_read = end
            if time.monotonic() > deadline:
                return

    def _read_on(self, reader: Reader, end: int) -> None:
        arrivals, steps = np.array(new_steps(reader, self.read, end), np.int64).reshape(-1, 2).T
        spent = np.concatenate([[self.steps], self.steps + np.cumsum(steps, dtype=np.int64)])
        rows = new_scores(reader, self.read, end)
        self.references |= {row.reference: row.accuracies for row in rows if row.reference is not None}
        candidates = [row for row in rows if row.reference is None]
        self.scored.extend(
            [row.index for row in candidates],
            [int(spent[np.searchsorted(arrivals, row.arrival, "right")]) for row in candidates],
            [row.accuracies for row in candidates],
        )
        for counted in new_verdicts(reader, self.read, end):
            self.verdicts[counted.verdict, counted.untrained] += counted.number
            self.steps += counted.steps
            self.seconds += counted.seconds
        self.ranking.extend(reader.evaluations(self.read, end))
        self.read = end
