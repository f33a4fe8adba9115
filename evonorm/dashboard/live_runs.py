"""The runs that a dashboard has open: each is read on whenever somebody looks, but never more often than is cheap.

Not safe for threads: the dashboard does all of this in one thread of its own.
"""

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from evonorm.journal import Reader, find_run
from evonorm.pictures import Markup
from evonorm.report import PAPER_WINDOW, NamedTally, RunPage, Tally, digest, population_window, run_page

OPEN_RUNS = 8
READING_SECONDS = 0.05  # of one answer
SHORTEST_WAIT = 2.0  # seconds between two renderings ...
SHARE = 0.01  # ... and at most this share of a core goes into them ...
# ... and longer for every further page that looks: drawing an update takes a visible page of Chromium 40 to 70 ms of
# a core without a graphics card, so that all of them together take less than 2 % of one, however many they are.
SECONDS_PER_PAGE = 3.5
CATCHING_UP = 0.4  # but for the first reading of a long journal


@dataclass
class LiveRun:
    """One journal that is being read on, and the page that was last made of it."""

    name: str
    path: Path
    reader: Reader
    tally: Tally = field(default_factory=Tally)
    page: RunPage | None = None
    sections: dict[str, Markup] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    shown: str = ""  # the version that the page shows
    rendered: float = 0.0  # when it was last up to date, on the monotonic clock ...
    cost: float = 0.0  # ... and the processor seconds that making it took
    pages: int = 1  # that asked between the last two times, ...
    asked: int = 0  # ... and since then

    @property
    def wait(self) -> float:
        """Seconds until it makes sense to ask again."""
        pause = max(SHORTEST_WAIT, self.cost / SHARE, (self.pages - 1) * SECONDS_PER_PAGE)
        pause = CATCHING_UP if self.tally.behind else pause
        return max(0.0, self.rendered + pause - time.monotonic())

    def read_on(self, seconds: float | None = READING_SECONDS) -> Tally:
        self.tally.refresh(self.reader, seconds)
        return self.tally

    def refresh(self) -> None:
        """Reads on and makes the page anew, if there is news and the last one is old enough."""
        self.asked += 1
        if self.page is not None and self.wait > 0:
            return
        self.read_on()
        if self.page is None or self.shown != self.tally.version:
            self._render()
        self.rendered = time.monotonic()
        self.pages, self.asked = self.asked, 0

    def _render(self) -> None:
        started = time.thread_time()
        self.page = run_page(self.reader, self.tally, self.name, base=f"/runs/{self.name}")
        self.sections = self.page.sections()
        self.digests = {name: digest(section) for name, section in self.sections.items()}
        self.shown, self.cost = self.tally.version, time.thread_time() - started

    def named_tally(self) -> NamedTally:
        return NamedTally(self.name, self.tally, population_window(self.reader, PAPER_WINDOW))

    @property
    def replaced(self) -> bool:
        """Whether the journal under this name is another file by now."""
        return not self.path.exists() or self.path.stat().st_ino != self._inode

    def __post_init__(self) -> None:
        self._inode = self.path.stat().st_ino


class LiveRuns:
    """The last few runs that were asked for."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self._open: OrderedDict[str, LiveRun] = OrderedDict()

    def get(self, name: str) -> LiveRun:
        path = find_run(self.runs, name).journal
        if name in self._open and self._open[name].replaced:
            self._open.pop(name).reader.close()
        if name not in self._open:
            self._open[name] = LiveRun(name, path, find_run(self.runs, name).checked_reader())
        self._open.move_to_end(name)
        while len(self._open) > OPEN_RUNS:
            self._open.popitem(last=False)[1].reader.close()
        return self._open[name]

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].reader.close()
