"""Files that are whole: a reader sees the old content or the new, whatever happens in between."""

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO


def write_atomically(path: Path, content: bytes | str | Callable[[IO[bytes]], object]) -> None:
    """Writes the content, or what a function writes into the open file, and waits for the disk.

    Makes the folder where there is none; leaves nothing behind on an error.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            if callable(content):
                content(file)
            else:
                file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
