"""One driver per run: a lock of the operating system, which a killed owner cannot leave behind."""

import fcntl
import os
from pathlib import Path

from evonorm.journal.schema import JournalError


class RunLock:
    """Held from creation to `close`. The file beside the journal holds the owner's pid, for the refusal's message."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "lock").open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            owner = self._file.read().strip() or "unknown"
            self._file.close()
            raise JournalError(
                f"the run {folder.name} is being written by process {owner}. Stop that one first."
            ) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "RunLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
