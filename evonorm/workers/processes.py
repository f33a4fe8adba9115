"""Workers as child processes of the driver, each pinned to its own cores."""

import contextlib
import os
import selectors
import time
from collections import deque
from pathlib import Path

from evonorm.workers.child import as_stage
from evonorm.workers.cores import Cores
from evonorm.workers.interface import (
    Announced,
    Broken,
    Finished,
    HostState,
    Reason,
    Report,
    Task,
    TimeLimits,
    WorkerNote,
)
from evonorm.workers.process import WorkerProcess

LOOK_EVERY = 0.25  # seconds between looks at clocks and memory
MOST_PER_LOOK = 1.0  # seconds that can pass between looks; more means that the whole machine stood still


class ProcessWorkers:
    """A fixed number of processes. One that dies, hangs or grows too large breaks its task and is replaced."""

    def __init__(
        self,
        number: int,
        threads: int = 1,
        pin: bool = True,
        memory_gb: float | None = None,
        log: Path | None = None,
    ) -> None:
        self.capacity = number
        self.time_limits = TimeLimits()
        self.threads = threads
        self._cores = Cores(number * threads) if pin else None
        self.memory = int((memory_gb or _machine_memory_gb() * 0.8 / number) * 2**30)
        self._log = (log or Path(os.devnull)).open("ab")
        self._queue: deque[Task] = deque()
        self._reports: list[Report] = []
        self._selector = selectors.DefaultSelector()
        self._bell, self._bell_rope = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._looked = time.monotonic()
        self._workers: dict[int, WorkerProcess] = {}
        for place in range(number):
            self._start(place)

    def submit(self, task: Task) -> None:
        self._queue.append(task)
        self._hand_out()

    def wait(self, seconds: float) -> list[Report]:
        deadline = time.monotonic() + seconds
        while not self._reports:
            left = deadline - time.monotonic()
            for key, _ in self._selector.select(max(0.0, min(left, LOOK_EVERY))):
                if key.data is None:
                    os.read(self._bell, 4096)
                    left = 0.0
                else:
                    self._hear(key.data)
            self._look_after()
            self._hand_out()
            if left <= 0:
                break
        reports, self._reports = self._reports, []
        return reports

    def wake(self) -> None:
        """From another thread: `wait` returns soon."""
        with contextlib.suppress(BlockingIOError):  # rung often enough
            os.write(self._bell_rope, b"!")

    def hosts(self) -> list[HostState]:
        return []

    def close(self) -> None:
        for worker in self._workers.values():
            worker.kill()
            self._selector.unregister(worker.results)
            worker.close()
        self._workers.clear()
        self._selector.close()
        os.close(self._bell)
        os.close(self._bell_rope)
        self._log.close()
        if self._cores:
            self._cores.release()

    def pids(self) -> list[int]:
        return [worker.pid for worker in self._workers.values()]

    def _start(self, place: int) -> None:
        first, order = place * self.threads, self._cores.order if self._cores else []
        cores = sorted({order[(first + i) % len(order)] for i in range(self.threads)}) if order else []
        worker = WorkerProcess(place, cores, self.threads, self._log)
        self._workers[place] = worker
        self._selector.register(worker.results, selectors.EVENT_READ, worker)
        details = {"worker": place, "pid": worker.pid, "started": worker.start_time, "cores": cores}
        self._reports.append(WorkerNote("worker started", details))

    def _hand_out(self) -> None:
        for worker in self._workers.values():
            if self._queue and worker.task is None:
                with contextlib.suppress(BrokenPipeError):  # it has just died; the result pipe's end will tell
                    worker.give(self._queue.popleft())

    def _hear(self, worker: WorkerProcess) -> None:
        try:
            messages = worker.read()
        except ValueError as error:
            self._replace(worker, "garbage", str(error))
            return
        if messages is None:
            reason, cause = worker.cause_of_death()
            self._replace(worker, reason, f"the worker process died ({cause})")
            return
        for message in messages:
            if "stage" in message:
                self._reports.append(
                    WorkerNote("stage", {"task": message.get("task"), "stage": as_stage(message["stage"])})
                )
            elif worker.task is not None and message.get("task") == worker.task.id:
                self._reports.append(_answer(worker.task.id, message))
                worker.task = None

    def _look_after(self) -> None:
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        passed, self._looked = min(now - self._looked, MOST_PER_LOOK), now
        for worker in list(self._workers.values()):
            worker.stage_seconds += passed
            limit = self.time_limits.of(worker.stage) if worker.task else None
            if limit is not None and worker.stage_seconds > limit:
                self._replace(worker, "time", f"longer than {limit:.3g} s {_where(worker.stage)}")
            elif worker.memory() > self.memory:
                self._replace(worker, "memory", f"more than {self.memory / 2**30:.3g} GB of memory")

    def _replace(self, worker: WorkerProcess, reason: Reason, error: str) -> None:
        worker.kill()
        self._selector.unregister(worker.results)
        worker.close()
        self._reports.append(WorkerNote("worker ended", {"worker": worker.place, "pid": worker.pid, "reason": error}))
        if worker.task is not None:
            self._reports.append(Broken(worker.task.id, reason, error))
        self._start(worker.place)


def _answer(task: int, message: dict[str, object]) -> Report:
    if "error" in message:
        return Broken(task, "error", str(message["error"]))
    if "result" not in message:
        return Broken(task, "garbage", f"an answer without a result: {str(message)[:200]}")
    return Finished(task, message["result"])


def _where(stage: Announced | None) -> str:
    if stage is None:
        return "before its first stage"
    return f"in stage {' '.join(str(word) for word in stage.values() if word is not None)}"


def _machine_memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
