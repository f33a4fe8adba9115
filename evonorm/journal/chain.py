"""The chain of checksums: every row carries a hash of itself and of the row before it in its table.

So a digit that flips anywhere, a row that is gone from the middle or changed places with another breaks the chain at
that row. It guards against damage, not against people: whoever rewrites a row on purpose can rewrite the chain.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

TABLES = {  # the columns that are sealed, the one that rows are counted by first
    "proposals": ("idx", "graph", "origin", "free", "body", "time"),
    "outcomes": ("arrival", "idx", "kind", "test", "rung", "average", "steps", "seconds", "body", "time"),
    "events": ("id", "kind", "body", "time"),
}
BEFORE_FIRST = {"proposals": -1, "outcomes": 0, "events": 0}  # the number before a table's first one
HEADER_SEAL = "seal"  # the header's key for the hash of all its other rows
WRITER = "writer"  # the header's key that is there while a driver writes; not sealed, it comes and goes


class Row(NamedTuple):
    """A row of one of the tables: the sealed values, and the seal that the file has."""

    values: tuple[Any, ...]
    seal: bytes | None


class BrokenChainError(ValueError):
    """A row is not what was written."""

    def __init__(self, table: str, key: Any) -> None:
        super().__init__(f"{table}, row {key}: not what was written there")
        self.table, self.key = table, key


def first_seal(table: str) -> bytes:
    return hashlib.blake2b(table.encode(), digest_size=16).digest()


def seal_of(previous: bytes, values: Iterable[Any]) -> bytes:
    """The seal of a row behind another one; it sees texts, numbers and nothing (NULL) as they are read back."""
    content = "\x1f".join([value if isinstance(value, str) else repr(value) for value in values])
    return hashlib.blake2b(previous + content.encode(errors="surrogatepass"), digest_size=16).digest()


def header_seal(rows: Iterable[tuple[str, str]]) -> str:
    sealed = sorted((key, value) for key, value in rows if key not in (HEADER_SEAL, WRITER))
    return seal_of(first_seal("header"), chain.from_iterable(sealed)).hex()


def last_link(connection: sqlite3.Connection, table: str) -> tuple[int, bytes]:
    """The number of a table's last row and its seal: what the next one hangs on."""
    key = TABLES[table][0]
    row = connection.execute(f"SELECT {key}, seal FROM {table} ORDER BY {key} DESC LIMIT 1").fetchone()  # noqa: S608
    return row or (BEFORE_FIRST[table], first_seal(table))


def read_rows(connection: sqlite3.Connection, table: str, sealed: bool = True) -> Iterator[Row]:
    columns = (*TABLES[table], "seal" if sealed else "NULL")
    question = f"SELECT {', '.join(columns)} FROM {table} ORDER BY {columns[0]}"  # noqa: S608 (our own words)
    for *values, seal in connection.execute(question):
        yield Row(tuple(values), seal)


def check_chain(connection: sqlite3.Connection) -> dict[str, int]:
    """How many rows each table has; raises at the first one that is not what was written."""
    header = dict(connection.execute("SELECT key, value FROM header"))
    if header.get(HEADER_SEAL) != header_seal(header.items()):
        raise BrokenChainError("header", ", ".join(sorted(map(str, header))))
    return {table: _check_table(connection, table) for table in TABLES}


def _check_table(connection: sqlite3.Connection, table: str) -> int:
    seal, number = first_seal(table), 0
    for number, row in enumerate(read_rows(connection, table), start=1):  # noqa: B007 (the last one is the count)
        seal = seal_of(seal, row.values)
        if seal != row.seal:
            raise BrokenChainError(table, row.values[0])
    return number


def seal_header(connection: sqlite3.Connection) -> None:
    seal = header_seal(connection.execute("SELECT key, value FROM header").fetchall())
    connection.execute("INSERT OR REPLACE INTO header VALUES (?, ?)", (HEADER_SEAL, seal))


def seal_all(connection: sqlite3.Connection) -> None:
    """Seals every row anew, inside the caller's transaction: for files that nobody has sealed, or that were slimmed."""
    for table, columns in TABLES.items():
        seal, seals = first_seal(table), []
        for row in read_rows(connection, table, sealed=False):
            seal = seal_of(seal, row.values)
            seals.append((seal, row.values[0]))
        connection.executemany(f"UPDATE {table} SET seal = ? WHERE {columns[0]} = ?", seals)  # noqa: S608
    seal_header(connection)


def add_seals(connection: sqlite3.Connection) -> None:
    """Turns a file of the second schema into one of the third, whole or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for table in TABLES:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN seal BLOB")
        seal_all(connection)
        connection.execute("PRAGMA user_version = 3")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
