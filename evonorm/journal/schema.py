"""The journal's file: its tables, its version, and every way in which a file can be the wrong one."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from evonorm.journal import schema1

APPLICATION_ID = 0x45764E31  # "EvN1": tells our files from any other SQLite file
SCHEMA_VERSION = 2

# proposals and outcomes are keyed by the proposal's index; `arrival` counts outcomes in the order in which they came.
SCHEMA = """
CREATE TABLE header (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE proposals (
    idx INTEGER PRIMARY KEY, graph TEXT NOT NULL, origin TEXT NOT NULL, free INTEGER NOT NULL, body TEXT NOT NULL,
    time REAL NOT NULL
);
CREATE TABLE outcomes (
    arrival INTEGER PRIMARY KEY, idx INTEGER NOT NULL UNIQUE REFERENCES proposals(idx), kind TEXT NOT NULL, test TEXT,
    rung INTEGER, average REAL, steps INTEGER NOT NULL, seconds REAL NOT NULL, body TEXT NOT NULL, time REAL NOT NULL
);
CREATE INDEX outcomes_by_average ON outcomes(average) WHERE average IS NOT NULL;
CREATE INDEX outcomes_by_verdict ON outcomes(kind, test, rung);
CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, time REAL NOT NULL);
CREATE INDEX events_by_kind ON events(kind);
"""
LEFT_OUT = "left_out"  # the header's key for what a slim export counts instead of holding it: rejections by test
# Added later, so a journal that was begun before has it only once a search has gone on with it; questions are answered
# without it too, by a scan. SQLite uses it only for questions that spell the expression in the same way.
PARENT = "json_extract(body, '$.parents[0]')"
PARENT_INDEX = f"CREATE INDEX IF NOT EXISTS proposals_by_parent ON proposals({PARENT}) WHERE {PARENT} IS NOT NULL"

# Locks and shared memory of these do not reach other machines, on which SQLite's WAL relies.
NETWORK_FILE_SYSTEMS = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "lustre", "ceph", "afs")


class JournalError(ValueError):
    """The journal cannot be used; the message says why and what to do."""


class NoSuchCandidateError(JournalError):
    """The run has no candidate of this number."""


class JournalFullError(JournalError):
    """There is no room left to write. Everything committed before is safe."""


def create_file(path: Path) -> sqlite3.Connection:
    """A new, empty journal; refuses a folder without WAL."""
    refuse_network_disk(path)
    connection = _connect(path)
    try:
        with explained(path):
            _use_wal(connection, path)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.executescript(f"BEGIN; {SCHEMA} {PARENT_INDEX}; COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection


def remove_file(path: Path) -> None:
    """The journal and the two files that SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def open_for_writing(path: Path) -> sqlite3.Connection:
    """An existing journal, checked from end to end first; one of the first schema becomes one of this."""
    refuse_network_disk(path)
    _must_exist(path)
    connection = _connect(path)
    try:
        with explained(path):
            version = _check_identity(connection, path)
            check_whole(connection)
            _use_wal(connection, path)
            if version < SCHEMA_VERSION:
                schema1.upgrade(connection)
            connection.execute(PARENT_INDEX)
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_reading(path: Path, as_it_is: bool = False) -> sqlite3.Connection:
    """A connection that cannot write; a reader's transactions are single statements and never hold up the writer.

    It sees this schema, whatever the file's is, unless it is to be copied `as_it_is`.
    """
    _must_exist(path)
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=30)
    try:
        with explained(path):
            if _check_identity(connection, path) < SCHEMA_VERSION and not as_it_is:
                schema1.read_through_views(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def upgrade_file(path: Path) -> None:
    """Makes a file that nobody else has open yet one of this schema."""
    connection = _connect(path)
    try:
        with explained(path):
            if _check_identity(connection, path) < SCHEMA_VERSION:
                schema1.upgrade(connection)
    finally:
        connection.close()


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences: a full disk, a damaged file, a busy one."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if "full" in text or "disk I/O error" in text:
            raise JournalFullError(
                f"{path} cannot be written ({text}). All that was written before is safe."
                " Free some space on this disk, then resume."
            ) from error
        if isinstance(error, sqlite3.OperationalError) and ("locked" in text or "busy" in text):
            raise JournalError(f"{path} is in use by another process ({text}).") from error
        if isinstance(error, sqlite3.DatabaseError) and ("malformed" in text or "not a database" in text):
            raise JournalError(
                f"{path} is damaged ({text}). Import an earlier `evonorm journal export` of the run, or start anew."
            ) from error
        raise JournalError(f"{path} cannot be used: {text}.") from error


def check_whole(connection: sqlite3.Connection) -> None:
    damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if damage != "ok":
        raise sqlite3.DatabaseError(f"malformed: {' '.join(damage.split())}")


def refuse_network_disk(path: Path, mounts: str | None = None) -> None:
    """Raises where the folder lies on a network file system (`mounts` is the text of /proc/mounts)."""
    table = Path("/proc/mounts")
    if mounts is None:
        mounts = table.read_text() if table.exists() else ""
    folder = path.parent.resolve()
    found = ("", "")
    for line in mounts.splitlines():
        place, kind = line.split(" ")[1:3]
        if folder.is_relative_to(place) and len(place) >= len(found[0]):
            found = (place, kind)
    if found[1].startswith(NETWORK_FILE_SYSTEMS):
        raise JournalError(
            f"{folder} lies on a network disk ({found[1]} at {found[0]}), where SQLite's write-ahead log is not safe."
            " Choose a local folder with --runs, and carry runs over with `evonorm journal export`."
        )


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=30)


def _use_wal(connection: sqlite3.Connection, path: Path) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise JournalError(
            f"{path.parent} does not allow SQLite's write-ahead log (got {mode!r}). Choose a local folder with --runs."
        )
    connection.execute("PRAGMA synchronous = FULL")  # an outcome that was told survives a power cut


def _must_exist(path: Path) -> None:
    if not path.is_file():
        raise JournalError(f"there is no journal {path}.")


def _check_identity(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the file's schema, which is one that we can read."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise JournalError(f"{path} is an SQLite file, but not a journal of evonorm.")
    if not 1 <= version <= SCHEMA_VERSION:
        age = "an older" if version < SCHEMA_VERSION else "a newer"
        raise JournalError(
            f"{path} was written by {age} evonorm (schema {version}, this one reads 1 to {SCHEMA_VERSION})."
            " Use the version that wrote it."
        )
    return int(version)
