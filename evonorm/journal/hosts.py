"""Which other machines worked for a run, for how long, and how busy they were."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

from evonorm.journal.reader import Reader
from evonorm.journal.run_state import run_state
from evonorm.journal.words import Event

_KINDS = (Event.HOST_JOINED, Event.HOST_LOST, Event.SESSION_STARTED, Event.SESSION_ENDED)
_EVENTS = "SELECT kind, body, time FROM events WHERE kind IN (?, ?, ?, ?) ORDER BY id"
_LAST_SIGN = """SELECT max(coalesce((SELECT max(time) FROM outcomes WHERE time < ?), 0),
    coalesce((SELECT max(time) FROM events WHERE time < ?), 0))"""
_WORK = "SELECT count(*), coalesce(sum(seconds), 0) FROM outcomes WHERE time >= ? AND seconds > 0"
SHOWN = 10  # nodes


@dataclass
class NodeRow:
    """The hosts of one node: workers now, and over the whole run how often it joined and was lost."""

    workers: int = 0
    joined: int = 0
    lost: int = 0
    seconds: float = 0.0  # of worker time that it offered
    processor: str = ""


@dataclass
class Hosts:
    """All of them by node."""

    nodes: dict[str, NodeRow] = field(default_factory=dict)
    first: float = 0.0  # when the first one joined
    wall_seconds: float = 0.0  # with at least one host
    judged: int = 0
    busy_seconds: float = 0.0

    @property
    def offered_seconds(self) -> float:
        return sum(row.seconds for row in self.nodes.values())

    def __str__(self) -> str:
        now = [row for row in self.nodes.values() if row.workers]
        joined, lost = (sum(getattr(row, name) for row in self.nodes.values()) for name in ("joined", "lost"))
        hours, wall = self.offered_seconds / 3600, max(1.0, self.wall_seconds) / 3600
        busy = min(1.0, self.busy_seconds / max(1.0, self.offered_seconds))
        return (
            f"{len(now):,} now with {sum(row.workers for row in now):,} workers ({joined:,} joined, {lost:,} lost);"
            f" {hours:,.2f} worker-hours, {100 * busy:.0f} % of them busy; {self.judged / wall:,.0f} judged an hour"
        )

    def rows(self, most: int = SHOWN) -> list[tuple[str, NodeRow]]:
        """The nodes that offered most, then all others as one."""
        ordered = sorted(self.nodes.items(), key=lambda item: -item[1].seconds)
        rest = [row for _, row in ordered[most:]]
        if not rest:
            return ordered
        sums = [sum(getattr(row, name) for row in rest) for name in ("workers", "joined", "lost", "seconds")]
        return [*ordered[:most], (f"and {len(rest):,} more", NodeRow(*sums))]


def read_hosts(reader: Reader) -> Hosts | None:
    """None for a run that no other machine ever worked for."""
    stays = _Stays()
    for kind, text, when in reader.ask(_EVENTS, _KINDS):
        body = json.loads(text)
        if kind == Event.HOST_JOINED:
            stays.join(body, when)
        elif kind == Event.HOST_LOST:
            stays.lose(body["host"], when)
        else:
            stays.end_all(when if kind == Event.SESSION_ENDED else _last_sign(reader, when))
    found = stays.found
    if not found.nodes:
        return None
    if run_state(reader).pid is None:  # its driver was killed
        stays.end_all(_last_sign(reader, time.time()))
    else:
        stays.count_up_to(time.time())
    found.judged, found.busy_seconds = reader.ask(_WORK, (found.first,))[0]
    return found


def _last_sign(reader: Reader, before: float) -> float:
    """When the journal was last written before some moment."""
    return float(reader.ask(_LAST_SIGN, (before, before))[0][0])


class _Stays:
    """Follows hosts from the moment they join to the one they are gone. They are numbered anew in every session."""

    def __init__(self) -> None:
        self.found = Hosts()
        self._here: dict[int, tuple[NodeRow, int, float]] = {}  # workers, and since when they are counted
        self._since = 0.0  # there has been a host without a gap

    def join(self, body: dict[str, Any], when: float) -> None:
        row = self.found.nodes.setdefault(str(body["node"]), NodeRow())
        row.workers += body["workers"]
        row.joined += 1
        row.processor = str(body.get("processor", ""))
        self.found.first = self.found.first or when
        self._since = self._since if self._here else when
        self._here[body["host"]] = row, body["workers"], when

    def lose(self, number: int, when: float) -> None:
        if number in self._here:
            self._here[number][0].lost += 1
            self._end(number, when)

    def end_all(self, when: float) -> None:
        for number in list(self._here):
            self._end(number, when)

    def count_up_to(self, when: float) -> None:
        """For those that are still there."""
        for row, workers, since in self._here.values():
            row.seconds += workers * max(0.0, when - since)
        self.found.wall_seconds += max(0.0, when - self._since) if self._here else 0.0

    def _end(self, number: int, when: float) -> None:
        row, workers, since = self._here.pop(number)
        row.workers -= workers
        row.seconds += workers * max(0.0, when - since)
        if not self._here:
            self.found.wall_seconds += max(0.0, when - self._since)
