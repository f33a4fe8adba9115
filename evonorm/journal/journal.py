"""The one writer of a run's journal. Rows are only ever added."""

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evonorm.journal.chain import HEADER_SEAL, TABLES, WRITER, last_link, seal_header, seal_of
from evonorm.journal.outcomes import Outcome, Scores, outcome_to_json
from evonorm.journal.proposals import Proposal
from evonorm.journal.schema import JournalError, create_file, explained, open_for_writing, remove_file
from evonorm.journal.words import Event
from evonorm.journal.written import WrittenRows

_INSERT = {
    table: f"INSERT INTO {table} ({', '.join(columns)}, seal) VALUES (?{', ?' * len(columns)})"  # noqa: S608
    for table, columns in TABLES.items()
}


class Journal:
    """Appends proposals, outcomes and events, all of them inside a `transaction`, which is written whole or not at all.

    Exactly one process may have a run's journal open for writing: take the `RunLock` first. From opening to `close` the
    header says so, and what is committed is counted beside the journal (`written.py`). At rest there is one file.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        self._links = {table: last_link(connection, table) for table in TABLES}
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in TABLES}
        self._written = WrittenRows(path)

    @classmethod
    def create(cls, path: Path, header: dict[str, Any]) -> "Journal":
        """A new journal. It appears under its name only once the header is in it."""
        if path.exists():
            raise JournalError(f"{path} exists already.")
        unfinished = path.with_suffix(".new")
        remove_file(unfinished)
        try:
            with cls(unfinished, create_file(unfinished)) as journal, journal.transaction():
                rows = [(key, _text(value)) for key, value in header.items() if key not in (HEADER_SEAL, WRITER)]
                journal.connection.executemany("INSERT INTO header VALUES (?, ?)", rows)
                seal_header(journal.connection)
            unfinished.rename(path)
        finally:
            remove_file(unfinished)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> "Journal":
        journal = cls(path, open_for_writing(path))
        with explained(path, writing=True):
            mark = (WRITER, _text({"pid": os.getpid(), "time": time.time()}))
            journal.connection.execute("INSERT OR REPLACE INTO header VALUES (?, ?)", mark)
            journal._checkpoint()
            journal._note_written()
        return journal

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # a full disk: the mark stays, and so does the write-ahead log
            self.connection.execute("DELETE FROM header WHERE key = ?", (WRITER,))
            self._checkpoint()
        self.connection.close()
        self._written.close()

    def _checkpoint(self) -> None:
        """Everything into the journal itself, as far as readers let it."""
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _note_written(self) -> None:
        self._written.note({table: last for table, (last, _) in self._links.items()})

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        with explained(self.path, writing=True):
            self.connection.execute("BEGIN IMMEDIATE")
            before = dict(self._links)
            try:
                yield
                self._write_rows()
                self.connection.execute("COMMIT")
                self._note_written()
            except BaseException:
                self._links = before
                self._forget_rows()
                with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back by itself
                    self.connection.execute("ROLLBACK")
                raise

    def add_proposal(self, proposal: Proposal) -> None:
        """Also writes the outcome of a proposal that was settled at once."""
        settled, body = proposal.settled, _text(proposal.body())
        row = (proposal.graph.encode(), proposal.origin, int(settled is not None), body, time.time())
        self.add_row("proposals", row, proposal.index)
        if settled is not None:
            self.add_outcome(proposal.index, settled)

    def add_outcome(self, index: int, outcome: Outcome) -> None:
        body = outcome_to_json(outcome)
        kind = body.pop("kind")
        row = (
            index,
            kind,
            outcome.verdict.test,
            outcome.verdict.rung,
            outcome.average if isinstance(outcome, Scores) else None,
            int(sum(stage.steps for stage in outcome.stages)),
            float(sum(stage.seconds for stage in outcome.stages)),
            _text(body),
            time.time(),
        )
        self.add_row("outcomes", row)

    def add_event(self, kind: Event | str, body: dict[str, Any]) -> None:
        """What happened around the candidates: sessions, workers, attempts. No event changes the search."""
        self.add_row("events", (kind, _text(body), time.time()))

    def add_row(self, table: str, row: tuple[Any, ...], key: int | None = None) -> None:
        """A row behind the last one, or under a number of its own, with its link of the chain."""
        assert self.connection.in_transaction, "rows are added inside a transaction"
        last, previous = self._links[table]
        values = (last + 1 if key is None else key, *row)
        seal = seal_of(previous, values)
        self._rows[table].append((*values, seal))
        self._links[table] = values[0], seal

    def _write_rows(self) -> None:
        """All rows of a table at once, at half the price of one by one; a proposal comes before its outcome."""
        for table, rows in self._rows.items():
            self.connection.executemany(_INSERT[table], rows)
        self._forget_rows()

    def _forget_rows(self) -> None:
        for rows in self._rows.values():
            rows.clear()


_text = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode
