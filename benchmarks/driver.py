"""What the driver itself costs: outcomes per second through ask, tell and the journal, and whether memory grows.

    python benchmarks/driver.py [--outcomes 30000]
    python benchmarks/driver.py --outcomes 1000000 --in-flight 64     # does an outcome cost more as they become many?

Workers that answer at once and a full population of 2500; every outcome is on the disk (synchronous=FULL) before the
next batch is asked for.
"""

import argparse
import itertools
import json
import platform
import resource
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evonorm.fitness import create_screen
from evonorm.journal import CandidateVerdict, Journal, Reader
from evonorm.runner.budget import Budget
from evonorm.runner.driver import Driver
from evonorm.runner.recipe import Recipe
from evonorm.search import Search, SearchRecipe
from evonorm.workers import Finished, HostState, Report, Task, TimeLimits

ANCHORS = ("resnet50-cifar", "mobilenetv2-cifar", "efficientnet-b0-cifar")


DIFFERENT = 5000  # answers, made before the clock starts


class InstantWorkers:
    """As many tasks at once as asked for, each answered with random scores the moment it is waited for."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.time_limits = TimeLimits()
        drawn = np.random.default_rng(0).random((DIFFERENT, len(ANCHORS))).tolist()
        self.answers = itertools.cycle([scores(each) for each in drawn])
        self.tasks: list[Task] = []

    def submit(self, task: Task) -> None:
        self.tasks.append(task)

    def wait(self, seconds: float) -> list[Report]:  # noqa: ARG002 (never waits)
        tasks, self.tasks = self.tasks, []
        return [Finished(task.id, next(self.answers)) for task in tasks]

    def hosts(self) -> list[HostState]:
        return []

    def close(self) -> None:
        pass


def scores(drawn: list[float]) -> dict[str, Any]:
    """What a worker sends back, as JSON has it."""
    accuracies = dict(zip(ANCHORS, drawn, strict=True))
    figures = {"accuracy": 0.5, "loss": 1.5, "curve": [[500, 0.4], [1000, 0.45], [1500, 0.47], [2000, 0.5]]}
    stages = [
        {"name": "training", "anchor": each, "steps": 2000, "seconds": 1.0, "figures": figures} for each in ANCHORS
    ]
    return {"kind": "scores", "accuracies": accuracies, "stages": stages}


class Mark(NamedTuple):
    """Where the driver stood at some moment."""

    outcomes: int
    time: float
    memory: int
    processor: float


class Watch:
    """Notes speed and memory every thousand outcomes."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []

    def show(self, driver: Driver) -> None:
        done = driver.verdicts[CandidateVerdict("scores")]
        if done // 1000 > len(self.marks):
            self.marks.append(Mark(done, time.perf_counter(), resident_bytes(), time.process_time()))


def resident_bytes() -> int:
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(outcomes: int, capacity: int, settings: SearchRecipe, folder: Path) -> dict[str, Any]:
    recipe = Recipe(seed=0, search=settings, references=())
    path = folder / f"{settings.order}-{capacity}.sqlite"
    watch = Watch()
    with Journal.create(path, {"name": "bench"}) as journal:
        search = Search(settings, 0, create_screen(settings))
        Driver(recipe, search, journal, InstantWorkers(capacity), Budget(candidates=outcomes), display=watch).run()
    full = [mark for mark in watch.marks if mark.outcomes > settings.window]
    rates = [(b.outcomes - a.outcomes) / (b.time - a.time) for a, b in itertools.pairwise(full)]
    first, last = full[0], full[-1]
    with Reader(path) as reader:
        proposed = reader.proposed()
    return {
        "order": settings.order,
        "in flight": capacity,
        "population": len(search.islands.of(0)),
        "outcomes per second (median of thousands)": round(statistics.median(rates)),
        "slowest thousand": round(min(rates)),
        "processor ms per outcome": round(
            1000 * (last.processor - first.processor) / (last.outcomes - first.outcomes), 3
        ),
        "proposals per outcome": round(proposed / outcomes, 2),
        "memory when the population is full, MB": round(first.memory / 2**20, 1),
        "memory at the end, MB": round(last.memory / 2**20, 1),
        "outcomes in between": last.outcomes - first.outcomes,
        "at so many outcomes: processor ms of one, MB": growth(watch.marks),
        "journal, MB": round(path.stat().st_size / 2**20, 1),
    }


def growth(marks: list[Mark]) -> dict[int, tuple[float, int]]:
    """What an outcome costs just before there are 10,000 and so on, by the last tenth of them, and the memory then."""
    found = {}
    for many in (10**4, 10**5, 10**6):
        tenth = [mark for mark in marks if 0.9 * many <= mark.outcomes <= many]
        if len(tenth) > 1 and marks[-1].outcomes >= 0.99 * many:
            first, last = tenth[0], tenth[-1]
            cost = 1000 * (last.processor - first.processor) / (last.outcomes - first.outcomes)
            found[many] = round(cost, 3), last.memory // 2**20
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outcomes", type=int, default=20_000)
    parser.add_argument("--in-flight", type=int, nargs="+", choices=(1, 8, 64), default=(1, 8, 64))
    chosen = parser.parse_args()
    print(f"{platform.platform()}, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}")
    paper = SearchRecipe()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for capacity, settings in ((1, replace(paper, lag=1)), (8, paper), (64, replace(paper, order="arrival"))):
            if capacity in chosen.in_flight:
                print(json.dumps(measure(chosen.outcomes, capacity, settings, Path(folder)), indent=2))


if __name__ == "__main__":
    main()
