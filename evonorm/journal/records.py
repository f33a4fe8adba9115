"""Results of long work, a line of JSON each, in one file that a stopped command goes on from.

A line is whole or it does not count, whatever ended the process that wrote it, and several processes may add to one
file at a time.
"""

import json
import os
from pathlib import Path
from typing import Any


def add_record(path: Path, record: Any) -> None:
    """Appends in one write and waits for the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(file).st_size
        torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        line = b"\n" * torn + json.dumps(record).encode() + b"\n"
        if os.write(file, line) < len(line):
            raise OSError(f"{path} took only a part of a result: is the disk full?")
        os.fsync(file)
    finally:
        os.close(file)


def read_records(path: Path) -> list[Any]:
    """All that are whole, in the order in which they were written; none where there is no file."""
    if not path.exists():
        return []
    return [record for line in path.read_bytes().split(b"\n") if (record := _parsed(line)) is not None]


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
