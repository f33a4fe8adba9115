"""A run as one small file: for another machine, for a friend, for the archive."""

import hashlib
import lzma
import tempfile
from pathlib import Path

from evonorm.journal.reader import Reader
from evonorm.journal.schema import JournalError, check_whole, explained, open_for_reading, refuse_network_disk

MAGIC = b"evonorm journal export 1\n"


def export_journal(journal: Path, file: Path) -> int:
    """Writes a compact copy, also of a run that is being written; returns its size in bytes.

    The copy is a vacuumed SQLite file, compressed, behind a line that names the format and the content's SHA-256.
    """
    with tempfile.TemporaryDirectory(dir=file.absolute().parent) as folder:
        copy = Path(folder) / "copy.sqlite"
        connection = open_for_reading(journal)
        with explained(journal):
            connection.execute("VACUUM INTO ?", (str(copy),))
        connection.close()
        content = copy.read_bytes()
        packed = MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + lzma.compress(content, preset=4)
        finished = Path(folder) / "finished"
        finished.write_bytes(packed)
        finished.replace(file)
    return len(packed)


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
            connection = open_for_reading(half)
            check_whole(connection)
            connection.close()
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
