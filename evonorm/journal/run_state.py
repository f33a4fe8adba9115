"""Whether a search is at work on a run, as far as this machine can tell."""

import math
import os
import platform
import time
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from evonorm.journal.reader import Reader
from evonorm.journal.words import End, Event
from evonorm.workers import process_start_time


@dataclass(frozen=True)
class RunState:
    """The last session: by which process, since when, and how it ended, as far as any of it is known."""

    began: float | None = None
    pid: int | None = None  # of a driver that is at work here
    ended: float | None = None
    why: str | None = None

    def __str__(self) -> str:
        if self.pid is not None:
            return f"running in process {self.pid}"
        if self.ended is not None:
            why = str(self.why)
            return f"not running since {moment(self.ended)} ({End.explain(why) or why})"
        if self.began is not None:
            return f"last session began {moment(self.began)}, not running on this machine"
        return "no session yet"


def run_state(reader: Reader) -> RunState:
    """Asks the journal and the process table: trying the lock would get into the way of a search that begins."""
    ended = reader.last_event(Event.SESSION_ENDED)
    started = reader.last_event(Event.SESSION_STARTED)
    if started is None:
        return RunState()
    if ended is not None and ended.id > started.id:
        return RunState(started.time, None, ended.time, ended.body.get("why"))
    return RunState(started.time, _driver_at_work(started.body))


def _driver_at_work(session: dict[str, Any]) -> int | None:
    """The pid, if the process that began the session lives here; old journals do not tell when it was started."""
    pid, host = session["pid"], (session.get("machine") or {}).get("host")
    if host != platform.node() or session.get("started") not in (None, process_start_time(pid)):
        return None
    return pid if _lives(pid) else None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def why_not_reproducible(reader: Reader) -> list[str]:
    """Everything that happened by which another run with the same seed may have become another search."""
    return sorted({str(body.get("why")) for _, body in reader.events(Event.NOT_REPRODUCIBLE)})


def cut_short(reader: Reader) -> str | None:
    """What sessions that were stopped, or ended by the clock, threw away: it is no part of the run's cost."""
    ends = [body for _, body in reader.events(Event.SESSION_ENDED)]
    number, seconds = (math.fsum(map(_number, ends, repeat(key))) for key in ("unfinished", "seconds"))
    if not number:
        return None
    return (
        f"thrown away at the end of sessions: {number:.0f} unfinished evaluation(s), {seconds / 60:.1f} worker minutes"
    )


def _number(body: dict[str, Any], key: str) -> float:
    value = body.get(key)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def moment(when: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(when))
