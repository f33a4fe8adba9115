"""A running search as lines of text: for files, pipes and Python programs."""

import sys
import time
from collections.abc import Callable

from evonorm.journal import Reader, leaderboard
from evonorm.runner.driver import Driver
from evonorm.runner.session_words import (
    SCORED,
    best_line,
    count_line,
    first_score_line,
    hosts_line,
    time_line,
    work_lines,
)
from evonorm.runner.time_left import TimeLeft

EVERY, AT_FIRST = 30.0, 10.0  # seconds between two reports: as long as there is no score, people want to see it move


class PlainDisplay:
    """A line for every new best and reference, and now and then the counts and what everybody is at."""

    def __init__(self, write: Callable[[str], None], reader: Reader, title: str, every: float | None = None) -> None:
        self._write, self._reader, self._title, self._every = write, reader, title, every
        self._printed = 0.0
        self._scores = 0
        self._best = -1
        self._references = 0
        self._left: TimeLeft | None = None

    def show(self, driver: Driver) -> None:
        if driver.verdicts[SCORED] != self._scores:
            self._scores = driver.verdicts[SCORED]
            self._show_new_best(driver)
        now = time.monotonic()
        pause = self._every or (EVERY if self._scores else AT_FIRST)
        if now - self._printed >= pause:
            self._printed = now
            self._left = self._left or TimeLeft(driver)
            parts = [self._title, time_line(driver), count_line(driver)]
            self._write("  ".join([*parts, *hosts_line(driver), *first_score_line(driver, self._left)]))
            for line in work_lines(driver, self._left):
                self._write(f"  {line}")

    def close(self) -> None:
        pass

    def _show_new_best(self, driver: Driver) -> None:
        best = leaderboard(self._reader, 1)
        if best and best[0].candidate.proposal.index != self._best:
            self._best = best[0].candidate.proposal.index
            accuracies = ", ".join(f"{anchor} {100 * each:.2f}" for anchor, each in sorted(best[0].accuracies.items()))
            self._write(f"new best: candidate {self._best}, {100 * best[0].average:.2f} % ({accuracies})")
            self._write(f"  {best[0].formula}")
        elif len(driver.references) == self._references:
            return
        self._references = len(driver.references)
        self._write(f"  {best_line(best, driver.references)}")


class Printed:
    """An audience that reads along: lines on standard error, so that a program's own output stays its own."""

    def say(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def watch(self, reader: Reader, title: str) -> PlainDisplay:
        return PlainDisplay(self.say, reader, title)
