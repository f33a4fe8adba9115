"""What a person sees of a running search: a live panel in a terminal, plain lines elsewhere."""

import time
from collections import Counter
from itertools import islice

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from evonorm.cli.leaderboard import leaderboard_text
from evonorm.journal import DEPTH_CHECKS, FREE_CHECKS, CandidateVerdict, Reader, Scores, leaderboard, readable
from evonorm.runner import Driver

TOP = 5
MOST_AT_WORK = 12
SCORED = CandidateVerdict("scores")


class LiveDisplay:
    """Redrawn twice a second at most; the journal is asked only when a score has come in."""

    def __init__(self, console: Console, reader: Reader, title: str) -> None:
        self._reader, self._title = reader, title
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()
        self._drawn = 0.0
        self._scores = -1
        self._top = Text()

    def show(self, driver: Driver) -> None:
        now = time.monotonic()
        if now - self._drawn < 0.5:
            return
        self._drawn = now
        if driver.verdicts[SCORED] != self._scores:
            self._scores = driver.verdicts[SCORED]
            self._top = leaderboard_text(leaderboard(self._reader, TOP), self._reader.references())
        lines = [Text(f"{self._title}  {time_line(driver)}", style="bold"), Text(count_line(driver))]
        lines.append(Text(best_line(driver)))
        lines += [Text(line) for line in hosts_line(driver)]
        lines += [Text(f"  {line}", style="dim") for line in work_lines(driver)]
        self._live.update(Group(*lines, self._top), refresh=True)

    def close(self) -> None:
        self._live.stop()


class PlainDisplay:
    """A line for every new best, and one of counts now and then."""

    def __init__(self, console: Console, reader: Reader, title: str, every: float = 30.0) -> None:
        self._console, self._reader, self._title, self._every = console, reader, title, every
        self._printed = 0.0
        self._scores = 0
        self._best = -1

    def show(self, driver: Driver) -> None:
        if driver.verdicts[SCORED] != self._scores:
            self._scores = driver.verdicts[SCORED]
            self._show_new_best(driver)
        now = time.monotonic()
        if now - self._printed >= self._every:
            self._printed = now
            self._print("  ".join([self._title, time_line(driver), count_line(driver), *hosts_line(driver)]))

    def close(self) -> None:
        pass

    def _show_new_best(self, driver: Driver) -> None:
        best = leaderboard(self._reader, 1)
        if not best or best[0].candidate.proposal.index == self._best:
            return
        proposal = best[0].candidate.proposal
        self._best = proposal.index
        accuracies = ", ".join(f"{anchor} {100 * each:.2f}" for anchor, each in sorted(best[0].accuracies.items()))
        self._print(f"new best: candidate {self._best}, {100 * best[0].average:.2f} % ({accuracies})")
        self._print(f"  {readable(proposal.graph)}")
        self._print(f"  {best_line(driver)}")

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class Terminal:
    """Shows a search on a console: redrawn in place on a terminal, as lines anywhere else."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False)

    def watch(self, reader: Reader, title: str) -> LiveDisplay | PlainDisplay:
        return (LiveDisplay if self.console.is_terminal else PlainDisplay)(self.console, reader, title)


def time_line(driver: Driver) -> str:
    seconds = time.monotonic() - driver.started
    spent = f"{seconds / 60:.1f} min"
    left = driver.seconds_left()
    if left is not None:
        return f"{spent}, {left / 60:.1f} min left"
    bounds = [
        f"{number:,} {name} left{_at_this_pace(seconds, driver.left_at_start[name] - number, number)}"
        for name, number in driver.left().items()
    ]
    return ", ".join([spent, *bounds])


def _at_this_pace(seconds: float, done: int, left: int) -> str:
    """Of this session; the first steps go into the references, which is no pace to go by."""
    return f" (about {seconds / 60 * left / done:.0f} min)" if left and done and seconds > 60 else ""


def count_line(driver: Driver) -> str:
    by_test = Counter[str]()
    for verdict, number in driver.verdicts.items():
        if verdict.kind == "rejected":
            free = verdict.test in (*FREE_CHECKS, *DEPTH_CHECKS)
            by_test["free checks" if free else verdict.label] += number
    tests = ", ".join(f"{test} {number:,}" for test, number in sorted(by_test.items()))
    scored, failed = driver.verdicts[SCORED], driver.verdicts[CandidateVerdict("failed")]
    return (
        f"{driver.search.proposed:,} proposed, {by_test.total():,} rejected ({tests or 'none'}),"
        f" {scored:,} scored, {failed} failed, {len(driver.in_flight)} in work"
    )


def best_line(driver: Driver) -> str:
    """The best accuracy on each anchor, beside what the references have there."""
    scored = [(each.proposal.name, each.outcome) for each in driver.references if isinstance(each.outcome, Scores)]
    anchors = sorted(driver.best or {anchor for _, outcome in scored for anchor in outcome.accuracies})
    parts = []
    for anchor in anchors:
        best = f"{100 * driver.best[anchor]:.1f}" if anchor in driver.best else "none yet"
        beside = ", ".join(f"{name} {100 * outcome.accuracies[anchor]:.1f}" for name, outcome in scored)
        parts.append(f"{anchor} {best}" + (f" ({beside})" if beside else ""))
    return f"best %: {'; '.join(parts) or 'none yet'}"


def hosts_line(driver: Driver) -> list[str]:
    """One line about the machines of a cluster; none where there is no cluster."""
    hosts = driver.workers.hosts()
    if not hosts:
        return [] if driver.workers.capacity else ["hosts: none yet"]
    quiet = sum(host.quiet for host in hosts)
    share = f"{sum(host.busy for host in hosts):,} of {sum(host.workers for host in hosts):,} workers busy"
    judged = driver.judged / max(1.0, time.monotonic() - driver.started)
    words = f"hosts: {len(hosts):,}, {share}, {judged:.3g} judged a second"
    return [words + (f", {quiet:,} quiet" if quiet else "")]


def work_lines(driver: Driver) -> list[str]:
    """What some of those in flight are at."""
    shown = list(islice(driver.in_flight, MOST_AT_WORK))
    more = len(driver.in_flight) - len(shown)
    return [*(at_work(driver, index) for index in shown), *([f"and {more:,} more"] if more else [])]


def at_work(driver: Driver, index: int) -> str:
    graph, stage = readable(driver.in_flight[index].graph), driver.stages.get(index)
    where = f"{stage.label} {stage.anchor}" if stage else "starting"
    return f"{index}: {where}  {graph[:80]}{'…' if len(graph) > 80 else ''}"
