"""What every stage cost: candidates, rejections, steps and seconds, by stage and anchor."""

import json
import sys
from dataclasses import dataclass
from typing import Any

from evonorm.journal.reader import Reader, sensible
from evonorm.journal.words import StageKey

# Whole bodies: SQLite needs five times as long to take stages with curves in them apart.
_TRAINED = "SELECT kind, body FROM outcomes WHERE arrival > ? AND arrival <= ? AND (steps > 0 OR seconds > 0)"


@dataclass
class LedgerRow:
    """What one stage on one anchor has cost in all, and how many were rejected there."""

    candidates: int = 0
    rejected: int = 0
    steps: int = 0
    seconds: float = 0.0


class Ledger(dict[StageKey, LedgerRow]):
    """The rows in the order in which candidates go through the stages; it can be read on."""

    def read_on(self, reader: Reader, after: int = 0, until: int = sys.maxsize) -> None:
        """Takes in the outcomes behind one and up to another, by number of arrival."""
        for kind, text in reader.ask(_TRAINED, (after, until)):
            with sensible("an outcome's stages"):
                self._charge(kind, json.loads(text)["stages"])

    def _charge(self, kind: str, stages: list[dict[str, Any]]) -> None:
        for stage in stages:
            row = self.setdefault(StageKey.from_json(stage), LedgerRow())
            row.candidates += 1
            row.steps += stage["steps"]
            row.seconds += stage["seconds"]
        if kind == "rejected" and stages:
            row.rejected += 1


def read_ledger(reader: Reader) -> Ledger:
    ledger = Ledger()
    ledger.read_on(reader)
    return ledger
