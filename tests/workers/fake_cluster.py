"""A cluster inside the test's process: real hosts with processes or stubs, and a line that can be disturbed."""

import random
import threading
import time

from evonorm.workers import Finished, TimeLimits, WorkerNote
from evonorm.workers.cluster import HostGoneError, LineDownError, Node
from evonorm.workers.host import Host


class QuickWorkers:
    """Ends every task after a moment, with its own number; a stage is announced before."""

    def __init__(self, capacity, seconds=0.0):
        self.capacity, self.seconds, self.time_limits = capacity, seconds, TimeLimits()
        self.bell, self.tasks = threading.Event(), []

    def submit(self, task):
        self.tasks.append((time.monotonic() + self.seconds, task))

    def wait(self, seconds):
        due = [task for when, task in self.tasks if when <= time.monotonic()]
        if not due:
            self.bell.wait(min(seconds, self.seconds or seconds))
            self.bell.clear()
            due = [task for when, task in self.tasks if when <= time.monotonic()]
        self.tasks = [each for each in self.tasks if each[1] not in due]
        return [
            report
            for task in due
            for report in (
                WorkerNote("stage", {"task": task.id, "stage": {"name": "quick"}}),
                Finished(task.id, task.arguments),
            )
        ]

    def wake(self):
        self.bell.set()

    def hosts(self):
        return []

    def close(self):
        pass


class FakeLine:
    """Loses calls and answers, doubles and delays them, as its cluster says."""

    def __init__(self, cluster, host):
        self.cluster, self.host, self.state = cluster, host, "up"

    def call(self, text, answered):
        threading.Thread(target=self._carry, args=(text, answered), daemon=True).start()

    def _carry(self, text, answered):
        luck = self.cluster.luck
        time.sleep(luck.uniform(0, self.cluster.delay))
        fate = luck.random()
        if self.state == "frozen":
            return
        if self.state == "gone":
            answered(HostGoneError("killed"))
            return
        if fate < self.cluster.trouble:  # never arrives
            answered(LineDownError("lost on the way"))
            return
        if fate < 2 * self.cluster.trouble:  # arrives, and arrives again much later; the answer is lost
            self.host.exchange(text)
            threading.Timer(0.2, self.host.exchange, (text,)).start()
            answered(LineDownError("no answer"))
            return
        answer = self.host.exchange(text)
        if self.state == "gone":
            answered(HostGoneError("killed"))
        elif self.state == "up":
            answered(answer)

    def cut(self):
        self.state = "gone"
        self.cluster.cut += 1


class FakeCluster:
    """Nodes that the test adds and kills."""

    def __init__(self, nodes=2, cores=4, seconds=0.0, trouble=0.0, delay=0.0, seed=0):
        self.there = [Node(f"n{number}", f"node {number}", cores) for number in range(nodes)]
        self.seconds, self.trouble, self.delay = seconds, trouble, delay
        self.luck = random.Random(seed)
        self.lines, self.made, self.cut, self.closed = {}, [], 0, False

    def nodes(self):
        return list(self.there)

    def open(self, node, workers):
        host = Host(lambda: QuickWorkers(workers, self.seconds), orphaned=lambda: None)
        line = self.lines[node.id] = FakeLine(self, host)
        self.made.append((node.id, workers))
        return line

    def close(self):
        self.closed = True
