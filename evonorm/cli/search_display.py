"""What a person sees of a running search: a live panel in a terminal, plain lines elsewhere."""

import time

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from evonorm.cli.leaderboard import leaderboard_text
from evonorm.journal import Reader, leaderboard
from evonorm.runner import (
    SCORED,
    Driver,
    PlainDisplay,
    TimeLeft,
    best_line,
    count_line,
    first_score_line,
    hosts_line,
    time_line,
    work_lines,
)

TOP = 5


class LiveDisplay:
    """Redrawn twice a second at most; the journal is asked only when a score has come in."""

    def __init__(self, console: Console, reader: Reader, title: str) -> None:
        self._reader, self._title = reader, title
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()
        self._drawn = 0.0
        self._scores = -1
        self._top = Text()
        self._best = ""
        self._left: TimeLeft | None = None

    def show(self, driver: Driver) -> None:
        now = time.monotonic()
        if now - self._drawn < 0.5:
            return
        self._drawn = now
        self._left = self._left or TimeLeft(driver)
        if driver.verdicts[SCORED] != self._scores:
            self._scores = driver.verdicts[SCORED]
            best, references = leaderboard(self._reader, TOP), self._reader.references()
            self._top, self._best = leaderboard_text(best, references), best_line(best, references)
        lines = [Text(f"{self._title}  {time_line(driver)}", style="bold"), Text(count_line(driver)), Text(self._best)]
        lines += [Text(line) for line in (*first_score_line(driver, self._left), *hosts_line(driver))]
        lines += [Text(f"  {line}", style="dim") for line in work_lines(driver, self._left)]
        self._live.update(Group(*lines, self._top), refresh=True)

    def close(self) -> None:
        self._live.stop()


class Terminal:
    """Shows a search on a console: redrawn in place on a terminal, as lines anywhere else."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def watch(self, reader: Reader, title: str) -> LiveDisplay | PlainDisplay:
        if self.console.is_terminal:
            return LiveDisplay(self.console, reader, title)
        return PlainDisplay(self.say, reader, title)
