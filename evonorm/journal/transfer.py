"""A run as one small file: for another machine, for a friend, for the archive.

The file is a vacuumed SQLite file, compressed, behind two lines: the format, and the content's SHA-256 and size.
"""

import hashlib
import json
import lzma
import tempfile
from collections import Counter
from pathlib import Path

from evonorm.journal.chain import WRITER, seal_all
from evonorm.journal.reader import Reader
from evonorm.journal.schema import (
    LEFT_OUT,
    JournalError,
    check_whole,
    connect,
    explained,
    open_for_reading,
    refuse_network_disk,
    upgrade_file,
)

MAGIC = b"evonorm journal export "
VERSION = 2  # of the file; the first one did not say its content's size
SMALL, RATIO = 64 * 2**20, 100  # content may be this large, or this many times its file: journals reach 20
UNFINISHED = ".export-"  # how the folder begins that an export is made in
_PIECE, _DECODER_MEMORY = 2**20, 256 * 2**20

# Turned down without training and of no function: a search that goes on needs no more of these than their number. The
# last ones stay, so that it goes on behind them.
_NOT_NEEDED = """
    SELECT idx, test FROM proposals JOIN outcomes USING (idx)
    WHERE free AND kind = 'rejected' AND proposals.body ->> 'function' IS NULL
    AND idx < (SELECT max(idx) FROM proposals WHERE NOT free OR body ->> 'function' IS NOT NULL)"""


def export_journal(journal: Path, file: Path, slim: bool = False, effort: int = 6) -> int:
    """Writes a compact copy, also of a run that is being written; returns its size in bytes.

    A slim one counts what was turned down without training instead of holding it; the same search goes on from it.
    A journal that is damaged is not copied. Less `effort` (0 to 9) is quicker and larger.
    """
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=file.absolute().parent) as folder:
        copy = Path(folder) / "copy.sqlite"
        connection = open_for_reading(journal, as_it_is=True)
        with explained(journal):
            connection.execute("VACUUM INTO ?", (str(copy),))
        connection.close()
        _prepare(copy, journal, slim)
        content = copy.read_bytes()
        head = f"{VERSION}\n{hashlib.sha256(content).hexdigest()} {len(content)}\n".encode()
        packed = MAGIC + head + lzma.compress(content, preset=effort)
        finished = Path(folder) / "finished"
        finished.write_bytes(packed)
        finished.replace(file)
    return len(packed)


def _prepare(copy: Path, journal: Path, slim: bool) -> None:
    connection = connect(copy)
    with explained(journal):
        connection.execute("DELETE FROM header WHERE key = ?", (WRITER,))  # nobody writes the copy
        check_whole(connection, copy)
    connection.close()
    upgrade_file(copy)
    if slim:
        _leave_out(copy)


def _leave_out(copy: Path) -> None:
    with Reader(copy) as reader:
        counts = Counter(reader.left_out())
    connection = connect(copy)
    connection.execute(f"CREATE TEMP TABLE gone AS {_NOT_NEEDED}")
    counts.update(dict(connection.execute("SELECT test, count(*) FROM gone GROUP BY test")))
    connection.executescript("""
        BEGIN;
        DELETE FROM outcomes WHERE idx IN (SELECT idx FROM gone);
        DELETE FROM proposals WHERE idx IN (SELECT idx FROM gone);
        COMMIT;""")
    connection.execute("BEGIN")
    row = (LEFT_OUT, json.dumps(counts, sort_keys=True))
    connection.execute("INSERT OR REPLACE INTO header VALUES (?, ?)", row)
    seal_all(connection)
    connection.execute("COMMIT")
    connection.execute("VACUUM")
    connection.close()


def exported_name(file: Path) -> str:
    """The name of the run in an exported file, which is checked on the way."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.sqlite"
        unpack(file, copy)
        with Reader(copy) as reader:
            return str(reader.header()["name"])


def import_journal(file: Path, journal: Path) -> None:
    """Unpacks an exported run to a journal path that does not exist yet; nothing is left behind on an error."""
    refuse_network_disk(journal)
    if journal.exists():
        raise JournalError(f"{journal} exists already. Import under another name.")
    made = not journal.parent.exists()
    journal.parent.mkdir(parents=True, exist_ok=True)
    half = journal.with_suffix(".half")
    try:
        unpack(file, half)
        connection = open_for_reading(half, as_it_is=True)
        with explained(half):
            check_whole(connection, half)
        connection.close()
        upgrade_file(half)
        with Reader(half) as reader:  # seals say that nothing has changed, not that somebody sensible has written it
            reader.header()
            for _ in reader.candidates():
                pass
        half.rename(journal)
    finally:
        half.unlink(missing_ok=True)
        if made and not journal.exists():
            journal.parent.rmdir()


def unpack(file: Path, target: Path) -> None:
    """Writes the content of an exported file, piece by piece and never more of it than was declared."""
    packed = file.read_bytes()
    digest, size, body = _head(file, packed)
    allowed = max(SMALL, RATIO * len(packed))
    if size is not None and size > allowed:
        raise JournalError(
            f"{file} says that it holds {size:,} bytes, which in {len(packed):,} no journal has. It was not unpacked."
        )
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_DECODER_MEMORY)
    found, written = hashlib.sha256(), 0
    try:
        with target.open("wb") as out:
            while not decoder.eof:
                piece = decoder.decompress(body, _PIECE)
                body = b""
                if not piece and decoder.needs_input:
                    raise JournalError(f"{file} is damaged or cut short. Export the run again.")
                found.update(piece)
                written += out.write(piece)
                if written > (allowed if size is None else size):
                    raise JournalError(f"{file} holds more than it may: over {written:,} bytes. Export the run again.")
    except lzma.LZMAError as error:
        raise JournalError(f"{file} is damaged ({error}). Export the run again.") from error
    if found.hexdigest().encode() != digest:
        raise JournalError(f"{file} is damaged: its checksum does not match. Export the run again.")


def _head(file: Path, packed: bytes) -> tuple[bytes, int | None, bytes]:
    """Digest, declared size (none in the first version), and what comes behind."""
    if not packed.startswith(MAGIC):
        raise JournalError(f"{file} is not a file of `evonorm journal export`.")
    version, _, rest = packed[len(MAGIC) :].partition(b"\n")
    words, _, body = rest.partition(b"\n")
    digest, _, size = words.partition(b" ")
    if version == b"1":
        return words, None, body
    if version != b"%d" % VERSION or not size.isdigit() or len(size) > 18:
        raise JournalError(
            f"{file} is damaged, or of a newer evonorm: this one reads exports of version 1 and {VERSION}."
        )
    return digest, int(size), body
