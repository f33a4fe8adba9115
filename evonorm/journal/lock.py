"""One driver per run: a lock of the operating system, which a killed owner cannot leave behind."""

import contextlib
import fcntl
import os
from pathlib import Path

from evonorm.journal.schema import JournalError


class RunLock:
    """Held from creation to `close`. What is locked is the run's folder itself: nobody can remove that from under it.

    The file `lock` in it holds the owner's pid, for the refusal's message, and may come and go.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._folder)
            owner = _owner(folder / "lock")
            raise JournalError(f"the run {folder.name} is being written by {owner}. Stop that one first.") from None
        try:
            (folder / "lock").write_text(str(os.getpid()))
        except BaseException:
            os.close(self._folder)
            raise

    def close(self) -> None:
        os.close(self._folder)

    def __enter__(self) -> "RunLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _owner(file: Path) -> str:
    pid = ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        pid = file.read_text().strip()
    return f"process {pid}" if pid.isdigit() else "another process"
