"""A run as one small file: for another machine, for a friend, for the archive."""

import hashlib
import json
import lzma
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path

from evonorm.journal.reader import Reader
from evonorm.journal.schema import (
    LEFT_OUT,
    JournalError,
    check_whole,
    explained,
    open_for_reading,
    refuse_network_disk,
    upgrade_file,
)

MAGIC = b"evonorm journal export 1\n"

# Turned down without training and of no function: a search that goes on needs no more of these than their number. The
# last ones stay, so that it goes on behind them.
_NOT_NEEDED = """
    SELECT idx, test FROM proposals JOIN outcomes USING (idx)
    WHERE free AND kind = 'rejected' AND proposals.body ->> 'function' IS NULL
    AND idx < (SELECT max(idx) FROM proposals WHERE NOT free OR body ->> 'function' IS NOT NULL)"""


def export_journal(journal: Path, file: Path, slim: bool = False) -> int:
    """Writes a compact copy, also of a run that is being written; returns its size in bytes.

    The copy is a vacuumed SQLite file, compressed, behind a line that names the format and the content's SHA-256.
    A slim one counts what was turned down without training instead of holding it; the same search goes on from it.
    """
    with tempfile.TemporaryDirectory(dir=file.absolute().parent) as folder:
        copy = Path(folder) / "copy.sqlite"
        connection = open_for_reading(journal, as_it_is=True)
        with explained(journal):
            connection.execute("VACUUM INTO ?", (str(copy),))
        connection.close()
        upgrade_file(copy)
        if slim:
            _leave_out(copy)
        content = copy.read_bytes()
        packed = MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + lzma.compress(content, preset=6)
        finished = Path(folder) / "finished"
        finished.write_bytes(packed)
        finished.replace(file)
    return len(packed)


def _leave_out(copy: Path) -> None:
    with Reader(copy) as reader:
        counts = Counter(reader.left_out())
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.execute(f"CREATE TEMP TABLE gone AS {_NOT_NEEDED}")
    counts.update(dict(connection.execute("SELECT test, count(*) FROM gone GROUP BY test")))
    connection.executescript("""
        BEGIN;
        DELETE FROM outcomes WHERE idx IN (SELECT idx FROM gone);
        DELETE FROM proposals WHERE idx IN (SELECT idx FROM gone);
        COMMIT;""")
    row = (LEFT_OUT, json.dumps(counts, sort_keys=True))
    connection.execute("INSERT OR REPLACE INTO header VALUES (?, ?)", row)
    connection.execute("VACUUM")
    connection.close()


def exported_name(file: Path) -> str:
    """The name of the run in an exported file, which is checked on the way."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.sqlite"
        copy.write_bytes(_content(file))
        with Reader(copy) as reader:
            return str(reader.header()["name"])


def import_journal(file: Path, journal: Path) -> None:
    """Unpacks an exported run to a journal path that does not exist yet; nothing is left behind on an error."""
    refuse_network_disk(journal)
    if journal.exists():
        raise JournalError(f"{journal} exists already. Import under another name.")
    half = journal.with_suffix(".half")
    try:
        half.write_bytes(_content(file))
        with explained(half):
            connection = open_for_reading(half, as_it_is=True)
            check_whole(connection)
            connection.close()
        upgrade_file(half)
        half.rename(journal)
    finally:
        half.unlink(missing_ok=True)


def _content(file: Path) -> bytes:
    packed = file.read_bytes()
    if not packed.startswith(MAGIC):
        raise JournalError(f"{file} is not a file of `evonorm journal export`.")
    digest, _, body = packed[len(MAGIC) :].partition(b"\n")
    try:
        content = lzma.decompress(body)
    except lzma.LZMAError as error:
        raise JournalError(f"{file} is damaged or cut short ({error}). Export the run again.") from error
    if hashlib.sha256(content).hexdigest().encode() != digest:
        raise JournalError(f"{file} is damaged: its checksum does not match. Export the run again.")
    return content
