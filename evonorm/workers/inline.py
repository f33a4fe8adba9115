"""The driver computes by itself: for tests, debugging and machines with one core."""

import json
from collections import deque
from collections.abc import Callable
from typing import Any

from evonorm.workers.child import as_stage, load_function, what_was_raised
from evonorm.workers.interface import Broken, Finished, HostState, Report, Task, TimeLimits, WorkerNote


class InlineWorkers:
    """One task at a time, in `wait`. Nothing shields the driver from a crash, and nothing can cut a task short."""

    capacity = 1

    def __init__(self) -> None:
        self.time_limits = TimeLimits()
        self.listener: Callable[[WorkerNote], None] = lambda _: None  # is told of stages while `wait` computes
        self._queue: deque[Task] = deque()

    def submit(self, task: Task) -> None:
        self._queue.append(task)

    def wait(self, seconds: float) -> list[Report]:  # noqa: ARG002 (a task cannot be cut short)
        return [self._run(self._queue.popleft())] if self._queue else []

    def hosts(self) -> list[HostState]:
        return []

    def close(self) -> None:
        self._queue.clear()

    def _announce(self, task: Task, stage: Any) -> None:
        self.listener(WorkerNote("stage", {"task": task.id, "stage": as_stage(stage)}))

    def _run(self, task: Task) -> Report:
        arguments: dict[str, Any] = json.loads(json.dumps(task.arguments))  # what another process would see
        try:
            result = load_function(task.function)(arguments, lambda stage: self._announce(task, stage))
        except Exception:
            return Broken(task.id, "error", what_was_raised())
        try:
            return Finished(task.id, json.loads(json.dumps(result)))
        except (TypeError, ValueError) as error:
            return Broken(task.id, "garbage", f"the result is not JSON: {error}")
