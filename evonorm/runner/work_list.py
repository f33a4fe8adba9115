"""A list of tasks through workers, told as they come in."""

from collections.abc import Callable, Iterator, Sequence

from evonorm.workers import Announced, Broken, Finished, Task, WorkerNote, Workers


def work_through(
    tasks: Sequence[Task], workers: Workers, on_stage: Callable[[int, Announced], None] = lambda *_: None
) -> Iterator[Finished | Broken]:
    """Every task's report, the first to end first; none is tried again. `on_stage` hears what tasks announce."""
    for task in tasks:
        workers.submit(task)
    left = {task.id for task in tasks}
    while left:
        for report in workers.wait(0.5):
            if isinstance(report, WorkerNote):
                if report.kind == "stage":
                    on_stage(report.details["task"], report.details["stage"])
                continue
            left.remove(report.task)
            yield report
