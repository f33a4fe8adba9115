"""Kept results: what long work found out, each found again by the question that decides it.

One file, a line of JSON each: the question in the clear, a key made of it, the answer, and where it comes from (commit,
versions, machine, date). A line is whole or it does not count, whatever ended the process that wrote it. Several
processes may add to one file at a time, and files can be joined by `cat`: of two answers the later line holds.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evonorm.foundation import harmless_json, write_atomically

Question = Mapping[str, Any]  # everything that decides the answer, JSON-able
PROGRESS = "progress.json"
Listener = Callable[[str, int], None]  # is told, before work begins, what is known, and how many answers are not


class KeptResults:
    """The results in a file, or in `outcomes.jsonl` of a folder; neither need exist.

    `origin` says of everything that is kept from now on where it comes from.
    """

    FILE = "outcomes.jsonl"

    def __init__(
        self, place: Path, origin: Mapping[str, Any] | None = None, listener: Listener = lambda *_: None
    ) -> None:
        self.path = place if place.suffix == ".jsonl" else place / self.FILE
        self.origin, self.listener = dict(origin or {}), listener
        self._records: dict[str, dict[str, Any]] = {}
        self._read_until = 0

    def find(self, question: Question) -> Any | None:
        """The answer, if there is one, whichever process has found it."""
        self._read_on()
        record = self._records.get(key_of(question))
        return record["answer"] if record else None

    def keep(self, question: Question, answer: Any) -> None:
        """Appends; what the work on this question would have gone on from is not needed any more."""
        now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        record = {"key": key_of(question), "question": question, "answer": answer, **self.origin, "date": now}
        add_record(self.path, record)
        shutil.rmtree(self.partial(question), ignore_errors=True)
        with contextlib.suppress(OSError):  # others are at work there, or nobody ever was
            self._unfinished.rmdir()

    def partial(self, question: Question) -> Path:
        """The folder for what unfinished work on this question goes on from; nobody has made it yet."""
        return self._unfinished / key_of(question)

    def weights(self, question: Question) -> Path:
        """The file for the weights that a training ended with; whoever trains decides whether there is one."""
        return self.path.with_name(f"{self.path.name}.weights") / f"{key_of(question)}.pt"

    def pictures(self, question: Question) -> Path:
        """The folder for pictures of this work, PNG files; whoever does it decides whether there are any."""
        return self.path.with_name(f"{self.path.name}.pictures") / key_of(question)

    def picture_files(self, key: str) -> list[Path]:
        """The pictures of a record's work, by name."""
        return sorted((self.path.with_name(f"{self.path.name}.pictures") / key).glob("*.png"))

    def records(self) -> Iterator[dict[str, Any]]:
        """Every result with its question and origin, in the order in which the questions came up."""
        self._read_on()
        return iter(list(self._records.values()))

    def note_progress(self, question: Question, so_far: Any) -> None:
        """Leaves what is known of unfinished work for others to look at; nothing goes on from it."""
        record = {"key": key_of(question), "question": question, "answer": so_far}
        write_atomically(self.partial(question) / PROGRESS, json.dumps(record).encode())

    def under_way(self) -> list[dict[str, Any]]:
        """The latest note of all unfinished work that leaves some, as records whose answer is not the last word."""
        self._read_on()
        found = (_parsed(path.read_bytes()) for path in sorted(self._unfinished.glob(f"*/{PROGRESS}")))
        return [each for each in found if each is not None and each["key"] not in self._records]

    def unfinished(self) -> int:
        """How many questions without an answer have something to go on from."""
        self._read_on()
        folders = self._unfinished.iterdir() if self._unfinished.is_dir() else ()
        return sum(folder.name not in self._records for folder in folders)

    @property
    def version(self) -> str:
        """Later in order whenever something was kept or noted since."""
        files = [self.path, *self._unfinished.glob(f"*/{PROGRESS}")]
        return f"{max((path.stat().st_mtime_ns for path in files if path.exists()), default=0):020d}-{len(files)}"

    def expect(self, questions: Sequence[Question], what: str) -> None:
        """Before work begins: tells the listener, so that nobody takes what was kept for what was just computed."""
        left = sum(self.find(question) is None for question in questions)
        coming = f"{left} to go" if left else "nothing is trained"
        self.listener(f"{len(questions) - left} of {len(questions)} {what} are kept in {self.path}; {coming}.", left)

    @property
    def _unfinished(self) -> Path:
        return self.path.with_name(f"{self.path.name}.partial")

    def _read_on(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._read_until)
            content = file.read()
        *lines, torn = content.split(b"\n")
        self._read_until += len(content) - len(torn)
        for record in filter(None, map(_parsed, (*lines, torn))):
            if not isinstance(record, dict) or not {"key", "question", "answer"} <= record.keys():
                raise ValueError(f"{self.path} is no file of kept results: {str(record)[:80]}. Name another one.")
            self._records[record["key"]] = record


def key_of(question: Question) -> str:
    """Equal for equal questions, in whatever order their parts stand."""
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:16]


def add_record(path: Path, record: Any) -> None:
    """Appends a line in one write and waits for the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)  # else a line that another process is writing looks torn; closing unlocks
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
        return json.loads(harmless_json(line.decode()))
    except ValueError:
        return None
