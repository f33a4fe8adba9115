"""What the driver knows of workers. Made for long-lived actors that pull work, on this machine or on others.

A task's function is `function(arguments, announce)`: it gets the JSON arguments, calls `announce(stage)` when a stage
begins (with a JSON object, or just the stage's name), and returns something that JSON can say. A worker never retries:
that is the driver's decision.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

# "lost" is for workers elsewhere: the machine is gone, and with it what it was doing
Reason = Literal["error", "crash", "time", "memory", "garbage", "lost"]
Announced = dict[str, Any]  # the stage that a task is at: a flat JSON object that has at least a name


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
TimeLimit = Callable[[Announced | None], float | None]  # seconds for a stage (None: before the first), None: no limit


def no_limit(_: Announced | None) -> None:
    return None


class Workers(Protocol):
    """Every kind of worker. `capacity` tasks run at once; more may be submitted and wait."""

    capacity: int
    time_limit: TimeLimit  # may be set anew at any time

    def submit(self, task: Task) -> None: ...

    def wait(self, seconds: float) -> list[Report]:
        """What has happened; returns as soon as there is something, at the latest after `seconds`."""
        ...

    def close(self) -> None:
        """Ends at once, whatever is in flight."""
        ...
