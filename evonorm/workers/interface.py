"""What the driver knows of workers. Made for long-lived actors that pull work, on this machine or on others.

A task's function is `function(arguments, announce)`: it gets the JSON arguments, calls `announce(stage)` when a stage
begins (with a JSON object, or just the stage's name), and returns something that JSON can say. A worker never retries:
that is the driver's decision.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

# "lost": ended from outside, by a signal or with its machine, which says nothing of what it was doing
Reason = Literal["error", "crash", "time", "memory", "garbage", "lost"]
Announced = dict[str, Any]  # the stage that a task is at: a flat JSON object that has at least a name
StageName = tuple[str, str, int | None]  # name, anchor and rung of a stage: what limits go by

MOST_LOSSES = 5  # a task that was lost this often is given up: it may be what kills its machines


@dataclass(frozen=True)
class Task:
    """A piece of work as data: `function` is a dotted name such as `package.module:function`."""

    id: int
    function: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Finished:
    """The function returned."""

    task: int
    result: Any


@dataclass(frozen=True)
class Broken:
    """The function raised, or its worker died, hung, ate the memory or answered with garbage."""

    task: int
    reason: Reason
    error: str


@dataclass(frozen=True)
class WorkerNote:
    """Something about a worker that is no task's result: it started, it ended, a stage began."""

    kind: str
    details: dict[str, Any] = field(default_factory=dict)


Report = Finished | Broken | WorkerNote


@dataclass(frozen=True)
class TimeLimits:
    """Seconds that each stage may take, as data: who computes may be on another machine. None is no limit."""

    stages: tuple[tuple[StageName, float], ...] = ()
    otherwise: float | None = None  # for every other stage, and before the first

    def of(self, stage: Announced | None) -> float | None:
        return self.otherwise if stage is None else dict(self.stages).get(stage_name(stage), self.otherwise)


@dataclass(frozen=True)
class HostState:
    """A machine that works for a driver elsewhere."""

    node: str
    workers: int
    busy: int
    quiet: bool = False  # nothing was heard of it for a while


def stage_name(stage: Announced) -> StageName:
    return str(stage.get("name", "")), str(stage.get("anchor", "")), stage.get("rung")


class Workers(Protocol):
    """Every kind of worker. `capacity` tasks run at once; more may be submitted and wait.

    Every task that was submitted is reported once, as finished or broken, whatever happens to who computes it.
    """

    time_limits: TimeLimits  # may be set anew at any time

    @property
    def capacity(self) -> int:
        """May rise and fall where workers come and go."""
        ...

    def submit(self, task: Task) -> None: ...

    def wait(self, seconds: float) -> list[Report]:
        """What has happened; returns as soon as there is something, at the latest after `seconds`."""
        ...

    def hosts(self) -> list[HostState]:
        """The other machines that compute; none where all of it happens on this one."""
        ...

    def close(self) -> None:
        """Ends at once, whatever is in flight."""
        ...
