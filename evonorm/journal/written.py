"""How much was written: two small marks by which a copy that lacks its write-ahead log is told from a whole journal.

Beside the journal lies `journal.sqlite-rows`, three numbers: the last proposal, outcome and event that were committed.
It is written after every commit and never waited for, so it may be behind the journal and never ahead of it: a journal
that has less is not all there. In the journal's own header stands who writes, from the first moment to a clean end: a
file with that mark and without a write-ahead log is one that was copied alone, while a driver was at work.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from evonorm.journal.chain import BEFORE_FIRST, TABLES, WRITER

_LAST = "SELECT (SELECT max(idx) FROM proposals), (SELECT max(arrival) FROM outcomes), (SELECT max(id) FROM events)"
_COPY = (
    "To copy a run that is at work, use `evonorm journal export`; `evonorm journal repair` goes on with what is here."
)


def rows_path(journal: Path) -> Path:
    return Path(f"{journal}-rows")


class WrittenRows:
    """The file with the numbers of the last rows, open for as long as its journal is written."""

    def __init__(self, journal: Path) -> None:
        self._file = os.open(rows_path(journal), os.O_WRONLY | os.O_CREAT, 0o644)

    def note(self, last: dict[str, int]) -> None:
        with contextlib.suppress(OSError):  # a full disk: the journal itself will tell
            os.pwrite(self._file, (" ".join(f"{last[table]:12d}" for table in TABLES) + "\n").encode(), 0)

    def close(self) -> None:
        os.close(self._file)


def missing_rows(connection: sqlite3.Connection, journal: Path) -> str | None:
    """What is not there although it was written, in words; None where all is."""
    log = Path(f"{journal}-wal")
    without_log = _is_empty(log)
    noted = _noted(journal)  # before the journal is asked: a writer may be at work
    there = connection.execute(_LAST).fetchone()
    for table, last, promised in zip(TABLES, there, noted or (), strict=False):
        if promised > (BEFORE_FIRST[table] if last is None else last):
            return (
                f"{table} up to number {promised} were written, and it ends with {'none' if last is None else last}:"
                f" its write-ahead log is missing or damaged, or this is an older copy. {_COPY}"
            )
    marked = connection.execute("SELECT 1 FROM header WHERE key = ?", (WRITER,)).fetchone()
    if marked and noted is None and without_log and _is_empty(log):
        return f"it was copied without its write-ahead log while a driver wrote it, so what is newest is lost. {_COPY}"
    return None


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except OSError:
        return True


def _noted(journal: Path) -> tuple[int, ...] | None:
    try:
        numbers = tuple(int(word) for word in rows_path(journal).read_text().split())
    except (OSError, ValueError):
        return None
    return numbers if len(numbers) == len(TABLES) else None
