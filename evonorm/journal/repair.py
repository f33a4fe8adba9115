"""Whether a journal is whole, and the longest good part of one that is not; the damaged file is kept beside it."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evonorm.graph import Graph
from evonorm.journal import schema1
from evonorm.journal.chain import BEFORE_FIRST, HEADER_SEAL, TABLES, WRITER, first_seal, header_seal, read_rows, seal_of
from evonorm.journal.journal import Journal
from evonorm.journal.known_schema import strange_schema
from evonorm.journal.outcomes import outcome_from_json
from evonorm.journal.reader import Reader
from evonorm.journal.schema import JournalError, connect, files_of, remove_file
from evonorm.journal.snapshot import snapshot_path
from evonorm.journal.transfer import import_journal
from evonorm.journal.words import Event

Rows = dict[str, list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Salvage:
    """What could be read: the header, and the good rows of each table."""

    header: dict[str, Any]
    rows: Rows

    @property
    def size(self) -> tuple[int, ...]:
        return tuple(len(self.rows[table]) for table in ("outcomes", "proposals", "events"))


@dataclass(frozen=True)
class Repaired:
    """What came of a repair: rows by table that were kept, and that could still be read but had to go."""

    kept: dict[str, int]
    dropped: dict[str, int]
    source: Path  # where the rows were taken from: the journal, or its snapshot
    damaged: Path  # where the damaged file is now


def check_journal(path: Path) -> dict[str, int]:
    """Rows by table of a journal that is whole; DamagedJournalError names the first thing that is not."""
    with Reader(path) as reader:
        counted = reader.check()
        candidates = sum(1 for _ in reader.candidates())
    return counted or {"proposals": candidates}


def repair_journal(path: Path) -> Repaired:
    """Puts the longest good prefix in the journal's place, from the snapshot if that has more.

    A search that goes on from it evaluates what was dropped again, and in strict order ends where it would have ended.
    """
    here, there = _salvage(path), _of_snapshot(path)
    if here is None and there is None:
        raise JournalError(
            f"{path} cannot be repaired: its header is damaged and there is no {snapshot_path(path).name} beside it."
            " Import an earlier `evonorm journal export` of the run."
        )
    found, source = (
        (here, path) if there is None or (here and here.size >= there.size) else (there, snapshot_path(path))
    )
    assert found is not None
    rows = _consistent(found.rows)
    kept = {table: len(rows[table]) for table in TABLES}
    dropped = {table: len(found.rows[table]) - kept[table] for table in TABLES}
    fresh = path.with_suffix(".repaired")
    remove_file(fresh)
    _write(fresh, Salvage(found.header, rows), dropped)
    damaged = _put_aside(path)
    for new, old in zip(files_of(fresh), files_of(path), strict=True):
        if new.exists():
            new.rename(old)
    return Repaired(kept, dropped, source, damaged)


def _salvage(path: Path) -> Salvage | None:
    """As far as pages can be read and rows are what was written; None without a header."""
    try:
        with closing(connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if strange_schema(connection, version):
                return None
            if version == 1:
                schema1.read_through_views(connection)
            header = dict(connection.execute("SELECT key, value FROM header"))
            sealed = version > 2
            if sealed and header.get(HEADER_SEAL) != header_seal(header.items()):
                return None
            parsed = {key: json.loads(text) for key, text in header.items() if key not in (HEADER_SEAL, WRITER)}
            return Salvage(parsed, {table: [*_good_rows(connection, table, sealed)] for table in TABLES})
    except (sqlite3.Error, ValueError, TypeError):
        return None


def _good_rows(connection: sqlite3.Connection, table: str, sealed: bool) -> Iterator[tuple[Any, ...]]:
    seal, last = first_seal(table), BEFORE_FIRST[table]
    try:
        for row in read_rows(connection, table, sealed):
            seal = seal_of(seal, row.values)
            if (sealed and seal != row.seal) or not row.values[0] > last or not _makes_sense(table, row.values):
                return
            last = row.values[0]
            yield row.values
    except (sqlite3.Error, TypeError):
        return


def _makes_sense(table: str, values: tuple[Any, ...]) -> bool:
    """For files without seals: the row says something that a reader understands."""
    row = dict(zip(TABLES[table], values, strict=True))
    try:
        body = json.loads(row["body"])
        if table == "proposals":
            Graph.decode(row["graph"])
        elif table == "outcomes":
            outcome_from_json({"kind": row["kind"], **body})
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _of_snapshot(path: Path) -> Salvage | None:
    """The rows of the snapshot beside the journal, if there is one and it is whole."""
    file, unpacked = snapshot_path(path), path.with_suffix(".unpacked")
    if not file.is_file():
        return None
    remove_file(unpacked)
    try:
        import_journal(file, unpacked)
        return _salvage(unpacked)
    except JournalError:
        return None
    finally:
        remove_file(unpacked)


def _consistent(rows: Rows) -> Rows:
    """Without outcomes of proposals that are gone, and up to the first settled proposal that has lost its outcome."""
    judged = {values[1] for values in rows["outcomes"]}
    proposals = []
    for values in rows["proposals"]:
        if values[3] and values[0] not in judged:
            break
        proposals.append(values)
    known = {values[0] for values in proposals}
    return {
        "proposals": proposals,
        "outcomes": [v for v in rows["outcomes"] if v[1] in known],
        "events": rows["events"],
    }


def _write(path: Path, found: Salvage, dropped: dict[str, int]) -> None:
    with Journal.create(path, found.header) as journal, journal.transaction():
        for table, rows in found.rows.items():
            for values in rows:
                journal.add_row(table, values[1:], values[0] if table == "proposals" else None)
        journal.add_event(Event.REPAIRED, {"dropped": dropped})


def _put_aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    for old, new in zip(files_of(path), files_of(aside), strict=True):
        if old.exists():
            old.rename(new)
    return aside
