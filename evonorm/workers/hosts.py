"""Workers on the nodes of a cluster: a host on each, found, greeted, filled, watched and replaced from here."""

import queue
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass

from evonorm.workers.cluster import Cluster, Greeting, HostGoneError, Node
from evonorm.workers.contact import Contact, Reply
from evonorm.workers.interface import Broken, Finished, HostState, Report, Task, TimeLimits, WorkerNote

LOOK_AT_NODES_EVERY = 10.0  # seconds
LOOK_EVERY = 0.25
MOST_PER_LOOK = 5.0  # seconds that can pass between looks; more means that this process stood still
GREETING = -1  # the id of a host's first task
LONGEST_BACKOFF = 60.0  # seconds before another host on a node whose hosts die


@dataclass(frozen=True)
class NodesSeen:
    """Which nodes there are, or why that could not be found out."""

    nodes: tuple[Node, ...]
    error: str | None = None


class HostWorkers:
    """Everything happens in `wait`, in the driver's own thread; other threads only put what they saw into a queue.

    Every task is reported once: by its host, or as lost when the host is given up. What a host says after that is not
    listened to any more.
    """

    def __init__(self, cluster: Cluster, greeting: Greeting, number: int = 0, threads: int = 1) -> None:
        self.time_limits = TimeLimits()
        self._cluster, self._greeting, self._most, self._threads = cluster, greeting, number, threads
        self._session = time.time_ns()
        self._news: queue.SimpleQueue[Reply | NodesSeen] = queue.SimpleQueue()
        self._contacts: dict[str, Contact] = {}  # by node
        self._nodes: tuple[Node, ...] = ()
        self._opened = 0
        self._losses: Counter[str] = Counter()  # of a node, in a row
        self._not_before: dict[str, float] = {}  # that a node gets another host
        self._refused: dict[str, str] = {}  # by node
        self._queue: deque[Task] = deque()
        self._reports: list[Report] = []
        self._looked = time.monotonic()
        self._closing = threading.Event()
        self._watcher = threading.Thread(target=self._watch_nodes, name="evonorm nodes", daemon=True)
        self._watcher.start()

    @property
    def capacity(self) -> int:
        """A host that is quiet has room for what it has and no more."""
        joined = [each for each in self._contacts.values() if each.joined]
        return sum(each.busy if each.quiet else each.workers for each in joined)

    def hosts(self) -> list[HostState]:
        """Those that have joined, by name."""
        joined = [each for each in self._contacts.values() if each.joined]
        found = [HostState(each.node.name, each.workers, each.busy, each.quiet) for each in joined]
        return sorted(found, key=lambda host: host.node)

    def submit(self, task: Task) -> None:
        self._queue.append(task)

    def wait(self, seconds: float) -> list[Report]:
        deadline = time.monotonic() + seconds
        self._go_on()
        while not self._reports:
            left = deadline - time.monotonic()
            self._hear_all(max(0.0, min(left, LOOK_EVERY)))
            self._look_after()
            if left <= 0:
                break
            if not self._reports:
                self._go_on()
        reports, self._reports = self._reports, []
        return reports

    def close(self) -> None:
        self._closing.set()
        for contact in self._contacts.values():
            contact.end()
        self._contacts.clear()
        self._watcher.join(timeout=5.0)  # it may be asking the cluster just now
        self._cluster.close()

    def _watch_nodes(self) -> None:
        while True:
            try:
                seen = NodesSeen(tuple(self._cluster.nodes()))
            except Exception as error:
                seen = NodesSeen((), f"{type(error).__name__}: {error}")
            self._news.put(seen)
            if self._closing.wait(LOOK_AT_NODES_EVERY):
                return

    def _go_on(self) -> None:
        """Opens hosts where there are none, hands out tasks, makes the calls that are due."""
        self._open_hosts()
        while self._queue and (emptiest := max(self._contacts.values(), key=lambda each: each.room, default=None)):
            if emptiest.room <= 0:
                break
            emptiest.give(self._queue.popleft())
        for contact in self._contacts.values():
            contact.talk(self.time_limits, self._news)
        if self._refused and not self._contacts and not self._reports:
            raise ValueError(next(iter(self._refused.values())))

    def _open_hosts(self) -> None:
        now = time.monotonic()
        for node in self._nodes:
            if node.id in self._contacts or node.id in self._refused or now < self._not_before.get(node.id, 0.0):
                continue
            workers = node.cores // self._threads
            if self._most:
                workers = min(workers, self._most - sum(each.workers for each in self._contacts.values()))
            if workers > 0:
                self._open(node, workers)

    def _open(self, node: Node, workers: int) -> None:
        self._opened += 1
        line = self._cluster.open(node, workers)
        contact = self._contacts[node.id] = Contact(self._opened, node, workers, line, self._session)
        contact.give(Task(GREETING, self._greeting.function, self._greeting.arguments))

    def _hear_all(self, seconds: float) -> None:
        """Waits for the first of the news, if need be, and takes in all that are there."""
        try:
            self._hear(self._news.get(timeout=seconds) if seconds else self._news.get_nowait())
            while True:
                self._hear(self._news.get_nowait())
        except queue.Empty:
            pass

    def _hear(self, news: Reply | NodesSeen) -> None:
        if isinstance(news, NodesSeen):
            self._nodes = self._nodes if news.error else news.nodes
            return
        contact = news.contact
        if self._contacts.get(contact.node.id) is not contact:
            return  # given up; its tasks are somebody else's by now
        try:
            reports = contact.hear(news)
        except HostGoneError as error:
            self._lose(contact, str(error))
            return
        for report in reports:
            if contact.joined:
                self._reports.append(report)
            elif not isinstance(report, WorkerNote):
                self._greet(contact, report)
        if contact.finished > 1:
            self._losses.pop(contact.node.id, None)

    def _greet(self, contact: Contact, report: Finished | Broken) -> None:
        if isinstance(report, Broken) and report.reason != "error":
            self._lose(contact, f"{report.reason}: {report.error}")
            return
        if isinstance(report, Broken):
            refusal: str | None = report.error.strip().rpartition("\n")[2]
        else:
            refusal = self._greeting.refuse(report.result)
        if refusal is not None:
            refusal = f"the host on {contact.node.name} cannot be used: {refusal}"
            self._refused[contact.node.id] = refusal
            self._end(contact)
            self._note("host refused", contact, {"why": refusal})
        elif isinstance(report, Finished):
            contact.joined = True
            self._note("host joined", contact, {"workers": contact.workers, **report.result})

    def _look_after(self) -> None:
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        passed, self._looked = min(now - self._looked, MOST_PER_LOOK), now
        for contact in list(self._contacts.values()):
            if why := contact.pass_time(passed):
                self._lose(contact, why)

    def _lose(self, contact: Contact, why: str) -> None:
        tasks, node = self._end(contact), contact.node
        self._losses[node.id] += 1
        self._not_before[node.id] = time.monotonic() + min(LONGEST_BACKOFF, 2.0 ** (self._losses[node.id] - 2))
        lost = [task for task in tasks if task.id != GREETING]
        if contact.joined or self._losses[node.id] == 1:
            self._note("host lost", contact, {"why": why, "tasks": len(lost)})
        self._reports += [Broken(task.id, "lost", f"the host on {node.name} is gone: {why}") for task in lost]

    def _end(self, contact: Contact) -> list[Task]:
        del self._contacts[contact.node.id]
        return contact.end()

    def _note(self, kind: str, contact: Contact, details: dict[str, object]) -> None:
        self._reports.append(WorkerNote(kind, {"host": contact.number, "node": contact.node.name, **details}))
