"""What a driver and a host say to each other: one call and one answer, JSON both ways.

Any call may be repeated, come late or come twice. Tasks carry rising numbers, given by the driver, so a host knows
what it has; reports carry rising numbers, given by the host, and are kept until they are acknowledged.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

from evonorm.workers.interface import Broken, Finished, Report, Task, TimeLimits, WorkerNote


@dataclass(frozen=True)
class Call:
    """From the driver. It is answered when there are reports, at the latest after `patience` seconds."""

    session: int  # a higher one replaces a lower one, with all that it had going on
    acknowledged: int = 0  # reports up to this number need not be told again
    tasks: tuple[Task, ...] = ()
    limits: TimeLimits | None = None  # where they are new
    patience: float = 0.0
    linger: float = 0.0  # seconds to wait for more once there is a report

    def to_text(self) -> str:
        fields = asdict(self)
        fields["tasks"] = [[task.id, task.function, task.arguments] for task in self.tasks]
        return json.dumps(fields)

    @classmethod
    def from_text(cls, text: str) -> "Call":
        fields = json.loads(text)
        fields["tasks"] = tuple(Task(*task) for task in fields["tasks"])
        fields["limits"] = fields["limits"] and _limits(fields["limits"])
        return cls(**fields)


@dataclass(frozen=True)
class Answer:
    """From the host: every report behind the acknowledged one, the first of which has the number `first`."""

    first: int = 1
    reports: tuple[Report, ...] = ()
    refused: str | None = None  # why it does not work for this driver

    def to_text(self) -> str:
        reports = [_report_words(report) for report in self.reports]
        return json.dumps({"first": self.first, "reports": reports, "refused": self.refused})

    @classmethod
    def from_text(cls, text: str) -> "Answer":
        fields = json.loads(text)
        return cls(fields["first"], tuple(_KINDS[kind](*rest) for kind, *rest in fields["reports"]), fields["refused"])


_KINDS: dict[str, Any] = {"finished": Finished, "broken": Broken, "note": WorkerNote}


def _report_words(report: Report) -> list[Any]:
    if isinstance(report, Finished):
        return ["finished", report.task, report.result]
    if isinstance(report, Broken):
        return ["broken", report.task, report.reason, report.error]
    return ["note", report.kind, report.details]


def _limits(fields: dict[str, Any]) -> TimeLimits:
    stages = tuple(((name, anchor, rung), seconds) for (name, anchor, rung), seconds in fields["stages"])
    return TimeLimits(stages, fields["otherwise"])
