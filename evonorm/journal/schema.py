"""The journal's file: its tables, its version, and every way in which a file can be the wrong one."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from evonorm.foundation import harmless_json
from evonorm.journal import schema1
from evonorm.journal.chain import BrokenChainError, add_seals, check_chain
from evonorm.journal.known_schema import strange_row, strange_schema
from evonorm.journal.written import missing_rows, rows_path

APPLICATION_ID = 0x45764E31  # "EvN1": tells our files from any other SQLite file
SCHEMA_VERSION = 3

# proposals and outcomes are keyed by the proposal's index; `arrival` counts outcomes in the order in which they came;
# `seal` is the row's link of the chain of checksums (chain.py).
SCHEMA = """
CREATE TABLE header (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE proposals (
    idx INTEGER PRIMARY KEY, graph TEXT NOT NULL, origin TEXT NOT NULL, free INTEGER NOT NULL, body TEXT NOT NULL,
    time REAL NOT NULL, seal BLOB
);
CREATE TABLE outcomes (
    arrival INTEGER PRIMARY KEY, idx INTEGER NOT NULL UNIQUE REFERENCES proposals(idx), kind TEXT NOT NULL, test TEXT,
    rung INTEGER, average REAL, steps INTEGER NOT NULL, seconds REAL NOT NULL, body TEXT NOT NULL, time REAL NOT NULL,
    seal BLOB
);
CREATE INDEX outcomes_by_average ON outcomes(average) WHERE average IS NOT NULL;
CREATE INDEX outcomes_by_verdict ON outcomes(kind, test, rung);
CREATE TABLE events (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, time REAL NOT NULL, seal BLOB
);
CREATE INDEX events_by_kind ON events(kind);
"""
LEFT_OUT = "left_out"  # the header's key for what a slim export counts instead of holding it: rejections by test
# Added later, so a journal that was begun before has it only once a search has gone on with it; questions are answered
# without it too, by a scan. SQLite uses it only for questions that spell the expression in the same way.
PARENT = "json_extract(body, '$.parents[0]')"
PARENT_INDEX = f"CREATE INDEX IF NOT EXISTS proposals_by_parent ON proposals({PARENT}) WHERE {PARENT} IS NOT NULL"

CURES = (
    "See `evonorm journal check`; `evonorm journal repair` keeps what is good, or import an earlier export of the run."
)
DAMAGE = ("malformed", "not a database", "full", "disk I/O error", "Could not decode")  # "full": of nonsense, if read

# Locks and shared memory of these do not reach other machines, on which SQLite's WAL relies.
NETWORK_FILE_SYSTEMS = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "lustre", "ceph", "afs")


class JournalError(ValueError):
    """The journal cannot be used; the message says why and what to do."""


class DamagedJournalError(JournalError):
    """The file is not what was written."""


class NoSuchCandidateError(JournalError):
    """The run has no candidate of this number."""


class JournalFullError(JournalError):
    """There is no room left to write. Everything committed before is safe."""


def create_file(path: Path) -> sqlite3.Connection:
    """A new, empty journal; refuses a folder without WAL."""
    refuse_network_disk(path)
    connection = connect(path)
    try:
        with explained(path, writing=True):
            _use_wal(connection, path)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.executescript(f"BEGIN; {SCHEMA} {PARENT_INDEX}; COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection


def remove_file(path: Path) -> None:
    """The journal and what is kept beside it."""
    for each in files_of(path):
        each.unlink(missing_ok=True)


def files_of(path: Path) -> list[Path]:
    """The journal, the two files that SQLite keeps beside it, and ours."""
    return [path, Path(f"{path}-wal"), Path(f"{path}-shm"), rows_path(path)]


def open_for_writing(path: Path) -> sqlite3.Connection:
    """An existing journal, checked from end to end first; one of an earlier schema becomes one of this."""
    refuse_network_disk(path)
    with contextlib.closing(open_for_reading(path, as_it_is=True)) as reading, explained(path):
        check_whole(reading, path)  # who may write moves the log into the file on leaving, also one that is damaged
    connection = connect(path)
    try:
        with explained(path, writing=True):
            _use_wal(connection, path)
            _upgrade(connection, _check_identity(connection, path))
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
    connection = connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        with explained(path):
            version = _check_identity(connection, path)
            if missing := missing_rows(connection, path):
                raise DamagedJournalError(f"{path} is not all there: {missing}")
            if version == 1 and not as_it_is:
                schema1.read_through_views(connection)
            connection.text_factory = harmless_text
    except BaseException:
        connection.close()
        raise
    return connection


def upgrade_file(path: Path) -> None:
    """Makes a file that nobody else has open yet one of this schema."""
    connection = connect(path)
    try:
        with explained(path):
            _upgrade(connection, _check_identity(connection, path))
    finally:
        connection.close()


def _upgrade(connection: sqlite3.Connection, version: int) -> None:
    if version == 1:
        schema1.upgrade(connection)
    if version < SCHEMA_VERSION:
        add_seals(connection)


@contextlib.contextmanager
def explained(path: Path, writing: bool = False) -> Iterator[None]:
    """SQLite's errors as sentences: a full disk, a damaged file, a busy one."""
    try:
        yield
    except BrokenChainError as error:
        raise DamagedJournalError(f"{path} is damaged ({error}). {CURES}") from error
    except sqlite3.Error as error:
        text = str(error)
        if writing and ("full" in text or "disk I/O error" in text):
            raise JournalFullError(
                f"{path} cannot be written ({text}). All that was written before is safe."
                " Free some space on this disk, then resume."
            ) from error
        if isinstance(error, sqlite3.OperationalError) and ("locked" in text or "busy" in text):
            raise JournalError(f"{path} is in use by another process ({text}).") from error
        if any(word in text for word in DAMAGE):
            raise DamagedJournalError(f"{path} is damaged ({text}). {CURES}") from error
        raise JournalError(f"{path} cannot be used: {text}.") from error


def harmless_text(content: bytes) -> str:
    """What readers see of a text: it may come from a file that somebody handed over."""
    return harmless_json(content.decode(errors="replace"))


def check_whole(connection: sqlite3.Connection, path: Path) -> dict[str, int]:
    """Every page, every row, and that all is there; returns how many rows each table has (none of an older schema)."""
    connection.text_factory = str  # seals are of the very text
    damage = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if damage != "ok":
        raise sqlite3.DatabaseError(f"malformed: {' '.join(damage.split())}")
    if missing := missing_rows(connection, path):
        raise DamagedJournalError(f"{path} is not all there: {missing}")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    counted = check_chain(connection) if version == SCHEMA_VERSION else {}
    if strange := strange_row(connection):
        raise sqlite3.DatabaseError(f"malformed: {strange}")
    return counted


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


def connect(place: Path | str, uri: bool = False) -> sqlite3.Connection:
    """With SQLite's own advice for files that somebody else may have made."""
    connection = sqlite3.connect(place, uri=uri, isolation_level=None, timeout=30)
    connection.executescript("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;")
    return connection


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
    if strange := strange_schema(connection, version):
        raise DamagedJournalError(f"{path} is no journal of evonorm, or damaged: it has {strange}. It was not read.")
    return int(version)
