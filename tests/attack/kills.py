"""Kills of a real search: real pictures, real trainings, the driver killed at random moments and resumed.

A try is one kill. When a search is through, its digest is compared with that of the undisturbed one and the next one
begins. Drivers are forked, so that a try takes as long as it lives. One that is killed before it has judged anything
leaves the search where it was, so the next one may live longer: on a busy machine no search would ever be through.
"""

import io
import os
import signal
import sys
import time
from dataclasses import replace

import torch
from rich.console import Console

from evonorm.cli.search_display import Terminal
from evonorm.data import cifar10_path, load_data
from evonorm.journal import RunFolder, check_journal, journal_digest
from evonorm.runner.budget import Budget
from evonorm.runner.recipe import recipe_from_table
from evonorm.runner.run_search import resume_search, start_search
from evonorm.workers import WorkerRecipe
from tests.attack.frame import Attack, SilentError
from tests.runner.test_run_search_real import CHEAP

CANDIDATES = 12
INLINE, PROCESSES = WorkerRecipe(kind="inline"), WorkerRecipe(number=1, pin=False)


def real_recipe():
    data = "cifar10" if cifar10_path().exists() else "digits"
    load_data(data)  # once, before the forks
    return recipe_from_table({**CHEAP, "fitness": {**CHEAP["fitness"], "data": data}}, "the attack")


def drive(folder, recipe):
    """A session in a process of its own; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        torch.set_num_threads(1)
        os.environ["XDG_STATE_HOME"] = str(folder.runs)
        audience, budget = Terminal(Console(file=io.StringIO())), Budget(candidates=CANDIDATES)
        if folder.journal.exists():
            resume_search(folder, budget, audience, workers=recipe.workers)
        else:
            start_search(folder, recipe, budget, audience)
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def ended_well(pid):
    return os.waitpid(pid, 0)[1] == 0


def kills(place):
    recipe = replace(real_recipe(), workers=INLINE)
    calm = RunFolder(place / "calm", "calm")
    began = time.monotonic()
    if not ended_well(drive(calm, recipe)):
        raise RuntimeError("the undisturbed search failed")
    shortest = max(1.0, (time.monotonic() - began) / 8)
    digest = journal_digest(calm.journal)
    state = {"number": 0, "rows": 0, "longest": shortest}

    def attempt(rng):
        folder = RunFolder(place / f"killed{state['number']}", "killed")
        driver = drive(folder, replace(recipe, workers=PROCESSES) if rng.random() < 0.2 else recipe)
        if _ends_within(driver, rng.uniform(0.0, state["longest"])):
            return _compare(folder, digest, state)
        os.kill(driver, signal.SIGKILL)
        os.waitpid(driver, 0)
        rows = check_journal(folder.journal)["outcomes"] if folder.journal.exists() else 0
        if rows < state["rows"]:
            raise SilentError(f"{state['rows'] - rows} committed outcomes are gone")
        state["longest"] = shortest if rows > state["rows"] else 1.5 * state["longest"]
        state["rows"] = rows
        return "killed"

    return attempt


def _ends_within(driver, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.waitpid(driver, os.WNOHANG)[0]:
            return True
        time.sleep(0.01)
    return False


def _compare(folder, digest, state):
    state["number"] += 1
    state["rows"] = 0
    if journal_digest(folder.journal) != digest:
        raise SilentError(f"{folder.journal} is another search")
    return "ended with the undisturbed digest"


KILLS = [Attack("kills of a real search", kills, 6.0)]
