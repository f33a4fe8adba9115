"""One worker process seen from the driver: its pipes, its task, its clock and its memory."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from evonorm.workers import child
from evonorm.workers.interface import Announced, Reason, Task, stage_name

LONGEST_LINE = 64 * 2**20
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
OWN_FAULTS = {
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGABRT,
    signal.SIGTRAP,
    signal.SIGSYS,
}


class WorkerProcess:
    """A child with a task pipe (its standard input) and a result pipe of its own, apart from what libraries print."""

    def __init__(self, place: int, cores: list[int], threads: int, log: IO[bytes]) -> None:
        self.place = place
        self.task: Task | None = None
        self.stage: Announced | None = None
        self.stage_seconds = 0.0  # as its keeper counts them
        self._buffer = b""
        self.results, results_end = os.pipe()
        os.set_blocking(self.results, False)
        settings = json.dumps({"driver": os.getpid(), "cores": cores, "path": sys.path})
        self._process = subprocess.Popen(  # noqa: S603 (our own script)
            [sys.executable, "-P", child.__file__, str(results_end), settings],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=(results_end,),
            env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))},
            start_new_session=True,  # Ctrl-C in the terminal is for the driver alone
        )
        os.close(results_end)
        self.pid = self._process.pid
        self.start_time = process_start_time(self.pid)

    def give(self, task: Task) -> None:
        self.task, self.stage, self.stage_seconds = task, None, 0.0
        line = json.dumps({"id": task.id, "function": task.function, "arguments": task.arguments})
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def read(self) -> list[dict[str, Any]] | None:
        """The messages that have come in, None at the pipe's end; ValueError on what is no message."""
        try:
            data = os.read(self.results, 2**20)
        except BlockingIOError:
            return []
        if not data:
            return None
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        if len(self._buffer) > LONGEST_LINE:
            raise ValueError(f"an answer of more than {LONGEST_LINE} bytes")
        return [self._message(line) for line in lines]

    def _message(self, line: bytes) -> dict[str, Any]:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise ValueError(f"not a message: {line[:200]!r}")  # noqa: TRY004 (a wrong value on the pipe, not a bug)
        if "stage" in message:
            self._announced(child.as_stage(message["stage"]))
        return message

    def _announced(self, stage: Announced) -> None:
        """The clock starts anew with another stage, not with every step of one."""
        if self.stage is None or stage_name(stage) != stage_name(self.stage):
            self.stage_seconds = 0.0
        self.stage = stage

    def memory(self) -> int:
        """Resident bytes; 0 where the system does not tell."""
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0

    def cause_of_death(self) -> tuple[Reason, str]:
        """A signal that no fault of its own raises came from outside: the task is lost, not broken."""
        try:
            code = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return "crash", "it closed its result pipe"
        if code >= 0:
            return "crash", f"exit code {code}"
        return "crash" if -code in OWN_FAULTS else "lost", f"killed by {signal.Signals(-code).name}"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        os.close(self.results)


def process_start_time(pid: int) -> str | None:
    """Tells a living process from any other with its pid, also after a restart; None if there is none to be seen."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (OSError, ValueError):
        return None
    return None if state == "Z" else f"{boot} {fields[18]}"


def end_leftovers(workers: list[tuple[int, str]], seconds: float = 5.0) -> list[int]:
    """Waits until these processes (pid, start time) are gone, kills those that stay; returns the killed pids."""
    deadline = time.monotonic() + seconds
    alive = workers
    while alive and time.monotonic() < deadline:
        alive = [(pid, started) for pid, started in alive if process_start_time(pid) == started]
        time.sleep(0.05 if alive else 0)
    for pid, _ in alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [pid for pid, _ in alive]
