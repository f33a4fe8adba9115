"""The one writer of a run's journal. Rows are only ever added."""

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evonorm.journal.outcomes import Outcome, Scores, outcome_to_json
from evonorm.journal.proposals import Proposal
from evonorm.journal.schema import JournalError, create_file, explained, open_for_writing, remove_file
from evonorm.journal.words import Event

_ADD_OUTCOME = """INSERT INTO outcomes (idx, kind, test, rung, average, steps, seconds, body, time)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""


class Journal:
    """Appends proposals, outcomes and events. What happens inside one `transaction` is written whole or not at all.

    Exactly one process may have a run's journal open for writing: take the `RunLock` first.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection

    @classmethod
    def create(cls, path: Path, header: dict[str, Any]) -> "Journal":
        """A new journal. It appears under its name only once the header is in it."""
        if path.exists():
            raise JournalError(f"{path} exists already.")
        unfinished = path.with_suffix(".new")
        remove_file(unfinished)
        try:
            with cls(unfinished, create_file(unfinished)) as journal, journal.transaction():
                rows = [(key, _text(value)) for key, value in header.items()]
                journal.connection.executemany("INSERT INTO header VALUES (?, ?)", rows)
            unfinished.rename(path)
        finally:
            remove_file(unfinished)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> "Journal":
        return cls(path, open_for_writing(path))

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        with explained(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back by itself
                    self.connection.execute("ROLLBACK")
                raise

    def add_proposal(self, proposal: Proposal) -> None:
        """Also writes the outcome of a proposal that was settled at once."""
        settled = proposal.settled
        self.connection.execute(
            "INSERT INTO proposals VALUES (?, ?, ?, ?, ?, ?)",
            (
                proposal.index,
                proposal.graph.encode(),
                proposal.origin,
                settled is not None,
                _text(proposal.body()),
                time.time(),
            ),
        )
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
            sum(stage.steps for stage in outcome.stages),
            sum(stage.seconds for stage in outcome.stages),
            _text(body),
            time.time(),
        )
        self.connection.execute(_ADD_OUTCOME, row)

    def add_event(self, kind: Event | str, body: dict[str, Any]) -> None:
        """What happened around the candidates: sessions, workers, attempts. No event changes the search."""
        row = (kind, _text(body), time.time())
        self.connection.execute("INSERT INTO events (kind, body, time) VALUES (?, ?, ?)", row)


_text = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode
