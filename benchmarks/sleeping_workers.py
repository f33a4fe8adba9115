"""Workers that only sleep, for `cluster.py`. A module of its own, without torch: every simulated host imports it."""

import heapq
import os
import random
import threading
import time
from collections import deque
from typing import Any

from evonorm.workers import Finished, HostState, Report, Task, TimeLimits

ANCHORS = ("resnet50-cifar", "mobilenetv2-cifar", "efficientnet-b0-cifar")


class SleepingWorkers:
    """Every task takes its time and no processor. A result says how long its worker had waited for the task."""

    def __init__(self, capacity: int, mean: float) -> None:
        self.capacity, self.mean, self.time_limits = capacity, mean, TimeLimits()
        self.free = deque([time.monotonic()] * capacity)  # since when each idle worker is idle
        self.queue: deque[Task] = deque()
        self.at_work: list[tuple[float, int, float, float]] = []  # when it ends, task, its seconds, waited before
        self.bell = threading.Event()
        self.luck = random.Random(os.getpid())  # noqa: S311

    def submit(self, task: Task) -> None:
        self.queue.append(task)
        self._hand_out()

    def _hand_out(self) -> None:
        now = time.monotonic()
        while self.queue and self.free:
            task, waited = self.queue.popleft(), now - self.free.popleft()
            seconds = self.mean * self.luck.uniform(0.5, 1.5) if task.arguments else 0.0  # a greeting is free
            heapq.heappush(self.at_work, (now + seconds, task.id, seconds, waited))

    def wait(self, seconds: float) -> list[Report]:
        if not self._is_due():
            left = self.at_work[0][0] - time.monotonic() if self.at_work else seconds
            self.bell.wait(max(0.0, min(seconds, left)))
            self.bell.clear()
        found: list[Report] = []
        while self._is_due():
            ended, task, spent, waited = heapq.heappop(self.at_work)
            self.free.append(ended)
            found.append(Finished(task, self._scores(spent, waited)))
        self._hand_out()
        return found

    def _is_due(self) -> bool:
        return bool(self.at_work) and self.at_work[0][0] <= time.monotonic()

    def _scores(self, spent: float, waited: float) -> dict[str, Any]:
        figures = {"accuracy": 0.5, "waited": waited}
        stages = [{"name": "training", "anchor": "all", "steps": 2000, "seconds": spent, "figures": figures}]
        return {"kind": "scores", "accuracies": {each: self.luck.random() for each in ANCHORS}, "stages": stages}

    def wake(self) -> None:
        self.bell.set()

    def hosts(self) -> list[HostState]:
        return []

    def close(self) -> None:
        pass


def sleeping_workers(settings: dict[str, Any]) -> SleepingWorkers:
    return SleepingWorkers(settings["workers"], settings["mean"])
