"""A host: the workers of one machine behind one repeatable call, for a driver that is elsewhere.

It knows no network: whatever carries text there and back will do. Clocks and memory limits are its workers' own, so
that a slow line never breaks a task.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Protocol

from evonorm.workers.exchange import Answer, Call
from evonorm.workers.interface import Report, StageName, Task, TimeLimits, WorkerNote, Workers, stage_name

ALONE_SECONDS = 600.0  # without a word of the driver; then it is taken for gone
LOOK_EVERY = 1.0


class WakeableWorkers(Workers, Protocol):
    """Workers that somebody else than their keeper can interrupt while they wait."""

    def wake(self) -> None: ...


class Host:
    """Workers that are made by, and belong to, one thread that lives as long as the host.

    On Linux a worker process is killed when the thread that started it ends, so no thread of a call may start one.
    """

    def __init__(
        self,
        make: Callable[[], WakeableWorkers],
        orphaned: Callable[[], None] = lambda: os._exit(1),
        alone_seconds: float = ALONE_SECONDS,
    ) -> None:
        self._make, self._orphaned, self._alone_seconds = make, orphaned, alone_seconds
        self._news = threading.Condition()  # guards everything below
        self._session = 0
        self._workers: WakeableWorkers | None = None
        self._tasks: list[Task] = []  # taken and not yet with the workers
        self._limits = TimeLimits()
        self._seen = _Numbers()
        self._reports: deque[Report] = deque()  # told and not acknowledged, or not told yet
        self._stages: dict[int, StageName] = {}  # what its tasks were last at
        self._first = 1  # the number of the first of them
        self._heard = time.monotonic()
        self._broken: str | None = None
        self._closed = False
        self._keeper = threading.Thread(target=self._keep, name="evonorm host", daemon=True)
        self._keeper.start()

    def exchange(self, text: str) -> str:
        """Answers a `Call` with an `Answer`; from any thread, several at a time."""
        call = Call.from_text(text)
        with self._news:
            self._heard = time.monotonic()
            if call.session > self._session:
                self._begin(call.session)
            if call.session == self._session:
                self._acknowledge(call.acknowledged)
                self._take(call)
                self._wait_for_news(call)
            return self._answer(call).to_text()

    def close(self) -> None:
        """Ends the workers with whatever they are doing."""
        with self._news:
            self._closed = True
            self._ring()
        self._keeper.join()

    def _begin(self, session: int) -> None:
        self._session, self._tasks, self._limits = session, [], TimeLimits()
        self._seen = _Numbers()
        self._reports.clear()
        self._first = 1
        self._ring()

    def _ring(self) -> None:
        if self._workers is not None:
            self._workers.wake()
        self._news.notify_all()

    def _acknowledge(self, number: int) -> None:
        while self._reports and self._first <= number:
            self._reports.popleft()
            self._first += 1

    def _take(self, call: Call) -> None:
        new = [task for task in call.tasks if self._seen.add(task.id)]
        self._tasks += new
        changed = call.limits is not None and call.limits != self._limits
        self._limits = call.limits or self._limits
        if new or changed:
            self._ring()

    def _wait_for_news(self, call: Call) -> None:
        deadline = time.monotonic() + call.patience
        while not (self._reports or self._over(call)) and (left := deadline - time.monotonic()) > 0:
            self._news.wait(left)
        deadline = min(deadline, time.monotonic() + call.linger)
        while not self._over(call) and (left := deadline - time.monotonic()) > 0:
            self._news.wait(left)

    def _over(self, call: Call) -> bool:
        return bool(call.session != self._session or self._broken or self._closed)

    def _answer(self, call: Call) -> Answer:
        if call.session != self._session:
            return Answer(refused=f"a driver with session {self._session} has this host, yours is {call.session}")
        if self._broken:
            return Answer(refused=f"its workers cannot be had: {self._broken}")
        skipped = max(0, call.acknowledged + 1 - self._first)
        return Answer(self._first + skipped, tuple(islice(self._reports, skipped, None)))

    def _keep(self) -> None:
        try:
            self._work()
        except Exception as error:
            with self._news:
                self._broken = f"{type(error).__name__}: {error}"
                self._news.notify_all()

    def _work(self) -> None:
        session, workers = 0, self._make()
        try:
            while True:
                with self._news:
                    if self._closed:
                        return
                    another, session = session not in (0, self._session), self._session
                    self._workers = None if another else workers
                    if not another:
                        tasks, self._tasks, workers.time_limits = self._tasks, [], self._limits
                if another:  # what the old ones do is nobody's business any more
                    workers.close()
                    workers = self._make()
                    continue
                for task in tasks:
                    workers.submit(task)
                self._hear(workers.wait(LOOK_EVERY), session)
        finally:
            with self._news:
                self._workers = None
            workers.close()

    def _is_news(self, report: Report) -> bool:
        """To a driver elsewhere: what came of tasks, and other stages; not every second of each worker."""
        if not isinstance(report, WorkerNote):
            self._stages.pop(report.task, None)
            return True
        if report.kind != "stage":
            return False
        task, stage = report.details["task"], stage_name(report.details["stage"])
        before, self._stages[task] = self._stages.get(task), stage
        return before != stage

    def _hear(self, reports: list[Report], session: int) -> None:
        told = [each for each in reports if self._is_news(each)]
        with self._news:
            if told and session == self._session:
                self._reports += told
                self._news.notify_all()
            alone = time.monotonic() - self._heard > self._alone_seconds
        if alone:
            self._orphaned()


class _Numbers:
    """Which numbers have come, in little room as long as they come about in order."""

    def __init__(self) -> None:
        self._all_up_to = 0
        self._beyond: set[int] = set()

    def add(self, number: int) -> bool:
        """Whether it is new."""
        if number <= self._all_up_to or number in self._beyond:
            return False
        self._beyond.add(number)
        while self._all_up_to + 1 in self._beyond:
            self._all_up_to += 1
            self._beyond.remove(self._all_up_to)
        return True
