"""Bars for work that is done in pieces: one for everybody who is at work, with what they are at and the time left."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from evonorm.fitness import Progress as ProgressEvent
from evonorm.runner import Watch

Bars = Callable[[str, str | None, int, int], None]  # who, what (None: done with everything), steps done, of how many


@contextmanager
def work_bars() -> Iterator[Bars]:
    """A progress bar on stderr for each that is at work; total 0 means unknown. In a file, lines instead."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        at_work: dict[str, TaskID] = {}

        def tell(who: str, what: str | None, done: int, total: int) -> None:
            if who not in at_work:
                at_work[who] = progress.add_task("", total=None)
            if what is None:
                progress.remove_task(at_work.pop(who))
                return
            text = f"{who}: {what}".replace("[", "(")
            progress.update(at_work[who], description=text, completed=done, total=total or None)

        yield tell


class _Lines:
    """A line when somebody begins with something else, and one a minute meanwhile."""

    def __init__(self) -> None:
        self.printed: dict[str, tuple[str, float]] = {}

    def __call__(self, who: str, what: str | None, done: int, total: int) -> None:
        last, when = self.printed.get(who, ("", 0.0))
        if what is None or (what == last and time.monotonic() < when + 60):
            return
        self.printed[who] = what, time.monotonic()
        of = f" of {total}" if total else ""
        typer.echo(f"{time.strftime('%H:%M:%S')} {who}: {what}: {done}{of}", err=True)


def told(bars: Bars) -> Watch:
    def watch(layer: str, seed: int, event: ProgressEvent | None) -> None:
        who = f"{layer[:40]} (seed {seed})"
        if event is None:
            bars(who, None, 0, 0)
        else:
            bars(who, f"{event.stage} on {event.anchor}", event.step, event.steps)

    return watch
