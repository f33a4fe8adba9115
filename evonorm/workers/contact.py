"""One host as the driver sees it: what it was given, what was heard of it, for how long it has been silent."""

import queue
from dataclasses import dataclass
from typing import Any

from evonorm.workers.cluster import HostGoneError, Line, LineDownError, Node
from evonorm.workers.exchange import Answer, Call
from evonorm.workers.interface import Broken, Finished, Report, Task, TimeLimits, WorkerNote

PATIENCE = 1.0  # seconds that a host may keep a call open
QUIET_SECONDS = 10.0  # beyond its patience; nothing new goes to a host that is quiet for longer
LOST_SECONDS = 60.0  # ... and this long means that it is gone
STARTING_SECONDS = 300.0  # until the first answer, since a host has to be started first
GREETING_LIMITS = TimeLimits(otherwise=600.0)  # imports, and data that a node has to get
PAUSE = 1.0  # before a call is repeated on a line that was down


@dataclass(frozen=True)
class Reply:
    """What came of a call to a host."""

    contact: "Contact"
    call: Call
    result: str | HostGoneError | LineDownError


class Contact:
    """A host's session. Tasks get numbers of their own here, so that a task may come back to the same host.

    At most one call that waits for news is under way, and one that hands over tasks meanwhile.
    """

    def __init__(self, number: int, node: Node, workers: int, line: Line, session: int) -> None:
        self.number, self.node, self.workers = number, node, workers
        self.joined = False  # has its greeting been heard and accepted?
        self.finished = 0
        self._line, self._session = line, session
        self._given: dict[int, Task] = {}  # by our number: with the host, or on the way
        self._unsent: list[Task] = []
        self._last = 0
        self._heard = 0  # the number of the last report
        self._limits: TimeLimits | None = None  # that the host is known to have
        self._waiting: Call | None = None
        self._handing: Call | None = None
        self._waiting_for = self._handing_for = 0.0  # an answer to them, in seconds
        self._down = 0.0  # seconds since the line last carried anything
        self._pause = 0.0
        self._spoken = False

    @property
    def silence(self) -> float:
        """Seconds that something has been without an answer."""
        return max(self._waiting_for, self._handing_for, self._down)

    @property
    def quiet(self) -> bool:
        return self.silence > PATIENCE + QUIET_SECONDS

    @property
    def busy(self) -> int:
        return len(self._given)

    @property
    def room(self) -> int:
        """How many more tasks it may have now."""
        return 0 if self.quiet or not self.joined else self.workers - len(self._given)

    def give(self, task: Task) -> None:
        self._last += 1
        self._given[self._last] = task
        self._unsent.append(Task(self._last, task.function, task.arguments))

    def talk(self, limits: TimeLimits, replies: "queue.SimpleQueue[Any]") -> None:
        """Makes the call that is due, if one is."""
        if self._pause > 0 or (self._waiting and (self._handing or not self._unsent)):
            return
        tasks, self._unsent = tuple(self._unsent), []
        limits = limits if self.joined else GREETING_LIMITS
        patience = 0.0 if self._waiting else PATIENCE
        call = Call(
            self._session,
            self._heard,
            tasks,
            None if limits == self._limits else limits,
            patience,
            linger=min(0.05, 0.001 * self.workers),
        )
        if self._waiting:
            self._handing = call
        else:
            self._waiting = call
        self._line.call(call.to_text(), lambda result: replies.put(Reply(self, call, result)))

    def pass_time(self, seconds: float) -> str | None:
        """Why the host is to be given up, if it is."""
        self._waiting_for += seconds if self._waiting else 0.0
        self._handing_for += seconds if self._handing else 0.0
        self._down += seconds if self._pause else 0.0
        self._pause = max(0.0, self._pause - seconds)
        if self.silence > PATIENCE + (LOST_SECONDS if self._spoken else STARTING_SECONDS):
            return f"no answer for {self.silence:.0f} s"
        return None

    def hear(self, reply: Reply) -> list[Report]:
        """The reports that are new, about the tasks as they were given; raises `HostGoneError` where that is so."""
        waited = self._end_call(reply.call)
        if isinstance(reply.result, HostGoneError):
            raise reply.result
        if isinstance(reply.result, LineDownError):
            self._unsent = [*reply.call.tasks, *self._unsent]
            self._pause, self._down = PAUSE, self._down + waited
            return []
        answer = Answer.from_text(reply.result)
        if answer.refused:
            raise HostGoneError(answer.refused)
        self._down, self._spoken = 0.0, True
        if reply.call.limits is not None:
            self._limits = reply.call.limits
        new = answer.reports[max(0, self._heard + 1 - answer.first) :]
        self._heard += len(new)
        return [each for report in new if (each := self._in_our_words(report)) is not None]

    def _end_call(self, call: Call) -> float:
        """For how long it was under way."""
        if call is self._waiting:
            waited, self._waiting, self._waiting_for = self._waiting_for, None, 0.0
        else:
            assert call is self._handing
            waited, self._handing, self._handing_for = self._handing_for, None, 0.0
        return waited

    def _in_our_words(self, report: Report) -> Report | None:
        if isinstance(report, WorkerNote):
            known = self._given.get(report.details["task"])
            return None if known is None else WorkerNote(report.kind, {**report.details, "task": known.id})
        task = self._given.pop(report.task)
        if isinstance(report, Finished):
            self.finished += 1
            return Finished(task.id, report.result)
        return Broken(task.id, report.reason, report.error)

    def end(self) -> list[Task]:
        """Ends the host and returns what it had; whatever comes from it later is about nothing."""
        self._line.cut()
        given, self._given = list(self._given.values()), {}
        return given
