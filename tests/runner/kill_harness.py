"""Runs a search, kills its driver or one of its workers at random moments, and resumes it until it is done.

A process of its own that imports everything once and forks the drivers, so that twenty kills take seconds.
"""

import contextlib
import io
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from evonorm.cli.search_display import Terminal
from evonorm.journal import RunFolder
from evonorm.runner.budget import Budget
from evonorm.runner.recipe import Recipe, load_recipe
from evonorm.runner.run_search import resume_search, start_search
from evonorm.search import SearchRecipe
from evonorm.workers import WorkerRecipe

CANDIDATES = {"plain": 100, "cheap": 100, "laptop": 40}
RECIPE = Recipe(
    seed=5,
    evaluate="tests.runner.fake_fitness:by_hash",
    fitness={"seconds": 0.01},
    search=SearchRecipe(window=20, smallest_tournament=4, lag=4),
    workers=WorkerRecipe(number=2, pin=False),
)
CHEAP = Recipe(
    seed=5,
    evaluate="tests.runner.fake_fitness:by_ladder",
    fitness={"seconds": 0.01, "ladder": [{"gate": 0.25}, {"gate": 0.5}]},
    search=SearchRecipe(
        window=20,
        smallest_tournament=4,
        lag=4,
        nodes=3,  # so few that equal functions are many
        free_checks=True,
        attempts=5,
        runs_per_function=3,
        genotypes_per_function=2,
    ),
    workers=WorkerRecipe(number=2, pin=False),
)
LAPTOP = replace(RECIPE, search=load_recipe(Path("laptop")).search)
RECIPES = {"plain": RECIPE, "cheap": CHEAP, "laptop": LAPTOP}


def place_of(runs, name):
    """A folder of runs for each, so that the one does not find the other's references in the cache."""
    return RunFolder(Path(runs) / f"{name} runs", name)


def drive(runs, name, kind="plain"):
    """One session, new or resumed, in this process."""
    folder = place_of(runs, name)
    os.environ["FAKE_FITNESS_LOG"] = str(Path(runs) / f"{name}.log")
    console = Terminal(Console(file=io.StringIO()))
    budget = Budget(candidates=CANDIDATES[kind])
    if folder.journal.exists():
        ended = resume_search(folder, budget, console)
    else:
        ended = start_search(folder, RECIPES[kind], budget, console)
    sys.stdout.write(f"{ended}\n")


def fork_driver(runs, name, kind):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            drive(runs, name, kind)
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    return pid


def children(pid):
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def wait_for_an_evaluation(log, seconds=10.0):
    before = log.stat().st_size if log.exists() else 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not (log.exists() and log.stat().st_size > before):
        time.sleep(0.002)


def kill_often(runs, name, kills, kind):
    moments = random.Random(0)
    for kill in range(kills):
        driver = fork_driver(runs, name, kind)
        if kill % 2:  # anywhere, also while it starts; else while it evaluates
            time.sleep(moments.uniform(0.0, 0.3))
        else:
            wait_for_an_evaluation(Path(runs) / f"{name}.log")
            time.sleep(moments.uniform(0.0, 0.08))
        victims = children(driver)
        if kill % 3 == 2 and victims:  # a worker, then the driver too
            os.kill(moments.choice(victims), signal.SIGKILL)
            time.sleep(moments.uniform(0.0, 0.1))
        with contextlib.suppress(ProcessLookupError):
            os.kill(driver, signal.SIGKILL)
        os.waitpid(driver, 0)
    end_undisturbed(runs, name, kind)


def end_undisturbed(runs, name, kind):
    driver = fork_driver(runs, name, kind)
    assert os.waitpid(driver, 0)[1] == 0


if __name__ == "__main__":
    place, number, chosen = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if chosen != "plain":
        import evonorm.fitness.free_checks  # noqa: F401 (once, before the forks)
    end_undisturbed(place, "calm", chosen)
    kill_often(place, "killed", number, chosen)
