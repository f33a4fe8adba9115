"""A copy of the journal beside it, made by itself while a search works and when it ends: what a repair falls back on.

Its cost is bounded: the next one is not begun before a hundred times what the last one took, so that no more than a
hundredth of a session goes into copies. They are made by a thread that reads as any reader does.
"""

import contextlib
import shutil
import threading
import time
from pathlib import Path

from evonorm.journal.schema import JournalError
from evonorm.journal.transfer import UNFINISHED, export_journal

SECONDS = 600.0  # between two snapshots, at least ...
AT_THE_END = 60.0  # ... and before the one at a session's end: what is lost with a shorter one is soon there again
SHARE = 0.01  # of a session's time that may go into them


def snapshot_path(journal: Path) -> Path:
    return journal.with_name("snapshot.evonorm")


class Snapshots:
    """From the beginning of a session to its end; the last one is made on leaving, if it is due."""

    def __init__(self, journal: Path, seconds: float = SECONDS, at_the_end: float = AT_THE_END) -> None:
        self.journal, self.seconds, self.at_the_end = journal, seconds, at_the_end
        self._ready, self._took = time.monotonic(), 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_making, name="snapshots", daemon=True)

    def __enter__(self) -> "Snapshots":
        for left in self.journal.parent.glob(f"{UNFINISHED}*"):  # by a session that was killed meanwhile
            shutil.rmtree(left, ignore_errors=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._left(self.at_the_end) <= 0:
            self._make()

    def _left(self, seconds: float) -> float:
        """Until the next one may begin."""
        return self._ready + max(seconds, self._took / SHARE) - time.monotonic()

    def _keep_making(self) -> None:
        while not self._ended.wait(max(0.0, self._left(self.seconds))):
            self._make()

    def _make(self) -> None:
        began = time.monotonic()
        with contextlib.suppress(JournalError, OSError):  # a full or damaged disk: the journal itself will tell
            export_journal(self.journal, snapshot_path(self.journal), effort=0)
        self._ready = time.monotonic()
        self._took = self._ready - began
