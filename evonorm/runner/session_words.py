"""What a session says of itself, in lines: time, counts, the best so far, and what everybody is at."""

import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from evonorm.journal import (
    DEPTH_CHECKS,
    FREE_CHECKS,
    Candidate,
    CandidateVerdict,
    Ranked,
    Scores,
    plain_formula,
)
from evonorm.runner.driver import Driver
from evonorm.runner.evaluation_task import LOADING
from evonorm.runner.time_left import TimeLeft

MOST_AT_WORK = 12
BAR = 16  # characters
SCORED = CandidateVerdict("scores")


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


def best_line(best: Sequence[Ranked], references: Sequence[Candidate]) -> str:
    """The best function beside the references, each with the number of its runs and how sure its mean is."""
    noise = best[0].noise.half(1) if best else None
    beside = [
        f"{each.proposal.name} {_mean(each.outcome.average, noise, 1)}"
        for each in references
        if isinstance(each.outcome, Scores)
    ]
    if not best:
        return f"best so far: none yet ({', '.join(beside)})" if beside else "best so far: none yet"
    found = f"candidate {best[0].candidate.proposal.index} {_mean(best[0].average, best[0].half, best[0].runs)}"
    return f"best so far: {'; '.join([found, *beside])}"


def _mean(average: float, half: float | None, runs: int) -> str:
    return f"{100 * average:.1f} %{'' if half is None else f' ± {100 * half:.1f}'} (n = {runs})"


def first_score_line(driver: Driver, left: TimeLeft) -> list[str]:
    """When the first figure comes, as long as there is none; no line after that."""
    if driver.verdicts[SCORED] or not driver.in_flight:
        return []
    seconds = left.first_score()
    if seconds is None:
        return ["first score: no estimate before some steps are done"]
    end = driver.seconds_left()
    late = ", after the end of this session: give it more minutes" if end is not None and seconds > end else ""
    return [f"first score in about {rough(seconds)}{late}"]


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


def work_lines(driver: Driver, left: TimeLeft) -> list[str]:
    """A bar for some of those in flight, with what they are at."""
    shown = list(islice(driver.in_flight, MOST_AT_WORK))
    more = len(driver.in_flight) - len(shown)
    return [*(work_line(driver, left, index) for index in shown), *([f"and {more:,} more"] if more else [])]


def work_line(driver: Driver, left: TimeLeft, index: int) -> str:
    proposal, at = driver.in_flight[index], driver.at.get(index)
    what = proposal.name or plain_formula(proposal.graph)
    formula = f"{what[:70]}{'…' if len(what) > 70 else ''}"
    waited = rough(time.monotonic() - driver.begun[index])
    if at is None or at.progress.stage == LOADING:
        doing = "starting: imports" if at is None else "starting: data and nets"
        return f"{bar(0, 0)} {index}: {doing}, {waited}  {formula}"
    progress = at.progress
    where = " ".join(word for word in (progress.key.label, progress.anchor) if word)
    steps = f" {progress.step}/{progress.steps}" if progress.steps else ""
    seconds = left.of(index)
    rest = f", about {rough(seconds)} left" if seconds is not None else ""
    return f"{bar(progress.step, progress.steps)} {index}: {where}{steps}, {waited}{rest}  {formula}"


def bar(done: int, total: int) -> str:
    """A bar of fixed width; without a total, an empty one."""
    full = round(BAR * min(1.0, done / total)) if total else 0
    return "━" * full + "─" * (BAR - full)


def rough(seconds: float) -> str:
    """To a person's eye: 8 s, 40 s, 3 min, 1.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
