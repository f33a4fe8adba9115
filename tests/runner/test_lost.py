"""A candidate that is lost with its worker is not to blame, unless it happens again and again."""

import io
import os
import signal
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from evonorm.cli.search_display import Terminal
from evonorm.journal import CandidateVerdict, Failed, RunFolder, journal_digest
from evonorm.runner import run_search
from evonorm.runner.budget import Budget
from evonorm.runner.run_search import start_search
from evonorm.runner.work_list import work_through
from evonorm.workers import Broken, Finished, InlineWorkers, Task, WorkerRecipe
from tests.runner.test_run_search import FAKE
from tests.runner.test_run_search import search as search_undisturbed

FAILED = CandidateVerdict("failed")


class LossyWorkers(InlineWorkers):
    """Loses some tasks a number of times before it computes them."""

    def __init__(self, losses):
        super().__init__()
        self.losses = losses

    def _run(self, task):
        if self.losses[task.id] > 0:
            self.losses[task.id] -= 1
            return Broken(task.id, "lost", "the host on node 7 is gone: ActorDiedError")
        return super()._run(task)


def lossy_search(tmp_path, monkeypatch, losses):
    monkeypatch.setattr(run_search, "create_workers", lambda *_: LossyWorkers(Counter(losses)))
    folder = RunFolder(tmp_path, "lossy")
    assert start_search(folder, FAKE, Budget(candidates=20), Terminal(Console(file=io.StringIO()))) == "candidates"
    return folder


def test_losses_change_nothing(tmp_path, monkeypatch):
    calm, _ = search_undisturbed(tmp_path / "calm", "calm", candidates=20)
    folder = lossy_search(tmp_path, monkeypatch, dict.fromkeys(range(100), 4))
    assert journal_digest(folder.journal) == journal_digest(calm.journal)
    with folder.reader() as reader:
        assert not reader.verdicts().get(FAILED)
        reasons = Counter(body["reason"] for _, body in reader.events("attempt failed"))
        assert reasons == {"lost": 4 * 22}
        assert not reader.events("not reproducible")


def test_a_candidate_that_takes_its_workers_along_is_given_up_and_the_run_says_so(tmp_path, monkeypatch):
    with search_undisturbed(tmp_path / "calm", "calm", candidates=20)[0].reader() as reader:
        victim = next(c.proposal.index for c in reader.candidates() if not c.proposal.settled and not c.proposal.name)
    folder = lossy_search(tmp_path, monkeypatch, {victim: 99})
    with folder.reader() as reader:
        assert [c.proposal.index for c in reader.candidates() if isinstance(c.outcome, Failed)] == [victim]
        assert reader.candidate(victim).outcome.reason == "lost"
        (why,) = [body["why"] for _, body in reader.events("not reproducible")]
    assert why == f"candidate {victim} was lost with its worker 5 times"


def test_losses_and_attempts_are_counted_apart(tmp_path, monkeypatch):
    """Four losses and one crash are still one crash."""
    calm, _ = search_undisturbed(tmp_path / "calm", "calm", candidates=20)
    crashed = set()

    class Crashing(LossyWorkers):
        def _run(self, task):
            if not self.losses[task.id] and task.id not in crashed:
                crashed.add(task.id)
                return Broken(task.id, "crash", "the worker process died (killed by SIGSEGV)")
            return super()._run(task)

    losses = Counter(dict.fromkeys(range(100), 4))
    monkeypatch.setattr(run_search, "create_workers", lambda *_: Crashing(losses))
    folder = RunFolder(tmp_path, "both")
    start_search(folder, FAKE, Budget(candidates=20), Terminal(Console(file=io.StringIO())))
    assert journal_digest(folder.journal) == journal_digest(calm.journal)


def test_workers_killed_from_outside_do_not_fail_a_healthy_candidate(tmp_path, monkeypatch):
    """Twice the same one, as the kernel does when memory is short: it used to be failed for good."""
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_FITNESS_LOG", str(log))
    slow = replace(FAKE, fitness={"seconds": 0.2}, workers=WorkerRecipe(number=1, pin=False))
    killed, over = Counter(), threading.Event()

    def kill():
        while not over.is_set():
            lines = log.read_text().split("\n")[:-1] if log.exists() else []
            if len(lines) > 4:
                seed, pid = lines[-1].split()
                if killed[seed] < 3 and (sum(killed.values()) < 3 or killed[seed]):
                    killed[seed] += 1
                    os.kill(int(pid), signal.SIGKILL)
                    wait_for_another_line(log, len(lines))
            time.sleep(0.005)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        folder, _ = search_undisturbed(tmp_path / "killed", "killed", slow, candidates=8)
    finally:
        over.set()
        killer.join()
    assert max(killed.values()) >= 2
    calm, _ = search_undisturbed(
        tmp_path / "calm", "calm", replace(slow, workers=WorkerRecipe(kind="inline")), candidates=8
    )
    assert journal_digest(folder.journal) == journal_digest(calm.journal)


def wait_for_another_line(log: Path, lines, seconds=10.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and len(log.read_text().split("\n")) - 1 <= lines:
        time.sleep(0.005)


@pytest.mark.parametrize("losses", [4, 5])
def test_a_list_of_tasks_bears_losses_too(losses):
    workers = LossyWorkers(Counter({1: losses}))
    tasks = [Task(number, "tests.workers.worker_faults:double", {"value": number}) for number in range(3)]
    found = {report.task: report for report in work_through(tasks, workers)}
    assert found[0] == Finished(0, {"value": 0})
    assert found[2] == Finished(2, {"value": 4})
    assert isinstance(found[1], Finished if losses == 4 else Broken)


def test_a_run_of_a_cluster_goes_on_only_where_somebody_says(tmp_path, monkeypatch):
    """A journal may come from anybody, and a cluster runs code: its address must not come from a file."""
    recipe = replace(FAKE, workers=WorkerRecipe(kind="ray", number=0, address="192.0.2.7:6379", insecure=True))
    monkeypatch.setattr(run_search, "create_workers", lambda *_: InlineWorkers())
    folder, _ = search_undisturbed(tmp_path, "run", recipe, candidates=3)
    with pytest.raises(ValueError, match=r"was on a cluster at 192.0.2.7:6379. Name the one to go on with: evonorm"):
        run_search.resume_search(folder, Budget(candidates=6))
    assert run_search.resume_search(folder, Budget(candidates=6), workers=WorkerRecipe(kind="inline")) == "candidates"
