"""A list of tasks through workers, told as they come in."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from evonorm.runner.handshake import greet
from evonorm.runner.surroundings import surroundings
from evonorm.workers import (
    MOST_LOSSES,
    Announced,
    Broken,
    Finished,
    Task,
    WorkerNote,
    WorkerRecipe,
    Workers,
    as_worker_recipe,
    create_workers,
)


def workers_for_list(
    workers: int | WorkerRecipe, tasks: int, threads: int, data: str | None = None
) -> contextlib.closing[Workers]:
    """Workers as asked for, no more than there are tasks; those of a cluster must be like this machine."""
    settings = as_worker_recipe(workers)
    settings = replace(settings, number=min(settings.number or tasks, tasks))
    greeting = greet(surroundings(), data) if settings.kind == "ray" else None
    return contextlib.closing(create_workers(settings, threads, greeting=greeting))


def work_through(
    tasks: Sequence[Task], workers: Workers, on_stage: Callable[[int, Announced], None] = lambda *_: None
) -> Iterator[Finished | Broken]:
    """Every task's report, the first to end first. `on_stage` hears what tasks announce.

    None is tried again, except one that was lost with its worker.
    """
    for task in tasks:
        workers.submit(task)
    left = {task.id: task for task in tasks}
    losses: Counter[int] = Counter()
    while left:
        for report in workers.wait(0.5):
            if isinstance(report, WorkerNote):
                if report.kind == "stage":
                    on_stage(report.details["task"], report.details["stage"])
                continue
            if isinstance(report, Broken) and report.reason == "lost":
                losses[report.task] += 1
                if losses[report.task] < MOST_LOSSES:
                    workers.submit(left[report.task])
                    continue
            del left[report.task]
            yield report
