"""Whole runs with a fake fitness, real processes and a real journal."""

import io
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from evonorm.cli.search_display import Terminal
from evonorm.graph import Graph, mutate, with_dead_nodes
from evonorm.journal import (
    CandidateVerdict,
    Failed,
    JournalError,
    Reader,
    Rejected,
    Scores,
    StageKey,
    Test,
    cut_short,
    export_journal,
    import_journal,
    journal_digest,
    leaderboard,
    read_ledger,
)
from evonorm.journal.run_folder import RunFolder, fresh_name
from evonorm.report import Run
from evonorm.runner.budget import Budget
from evonorm.runner.recipe import Recipe, load_recipe, recipe_from_table
from evonorm.runner.run_search import create_search, resume_search, start_search
from evonorm.search import SearchRecipe
from evonorm.workers import WorkerRecipe
from tests.runner import kill_harness

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
SCORED = CandidateVerdict("scores")
INLINE = WorkerRecipe(kind="inline")
FAKE = Recipe(
    seed=5,
    evaluate="tests.runner.fake_fitness:by_hash",
    search=SearchRecipe(window=20, smallest_tournament=4, lag=4),
    workers=INLINE,
)


def quiet():
    return Terminal(Console(file=io.StringIO(), width=200))


def search(runs, name, recipe=FAKE, console=None, **budget):
    folder = RunFolder(runs, name)
    return folder, start_search(folder, recipe, Budget(**budget), console or quiet())


def workers(number, **changes):
    return WorkerRecipe(number=number, **changes)


@pytest.mark.parametrize("evaluate", ["tests.runner.fake_fitness:by_hash", "tests.runner.fake_fitness:distance_to_b0"])
def test_the_same_seed_gives_the_same_digest_whoever_computes(tmp_path, evaluate):
    digests = {}
    for name, settings in (("inline", INLINE), ("one", workers(1)), ("two", workers(2))):
        folder, ended = search(tmp_path, name, replace(FAKE, evaluate=evaluate, workers=settings), candidates=24)
        assert ended == "candidates"
        digests[name] = journal_digest(folder.journal)
    assert len(set(digests.values())) == 1, digests
    other, _ = search(tmp_path, "other-seed", replace(FAKE, evaluate=evaluate, seed=6), candidates=24)
    assert journal_digest(other.journal) != digests["inline"]


@pytest.mark.parametrize("method", ["evolution", "random"])
def test_the_same_search_goes_on_from_a_slim_export(tmp_path, method):
    settings = replace(kill_harness.CHEAP.search, method=method, depth_check=True, nodes=4)
    recipe = replace(kill_harness.CHEAP, search=settings, workers=INLINE)
    whole, _ = search(tmp_path / "a", "whole", recipe, candidates=16)
    half, _ = search(tmp_path / "b", "half", recipe, candidates=8)
    gone_on = slim_copy(half, tmp_path / "c")
    with gone_on.reader() as reader, half.reader() as before:
        assert sum(reader.left_out().values()) > 50
        assert (reader.proposed(), reader.verdicts()) == (before.proposed(), before.verdicts())
        assert reader.settled_at_once() == before.settled_at_once()
        gap = next(n for n, row in enumerate(reader.candidates()) if row.proposal.index != n)
        with pytest.raises(JournalError, match=f"candidate {gap} was turned down without training"):
            reader.candidate(gap)
    assert Run("half", tmp_path / "b").tally().verdicts == Run("half", tmp_path / "c").tally().verdicts
    resume_search(gone_on, Budget(candidates=16), quiet(), trusted=True)
    with gone_on.reader() as reader, whole.reader() as expected:
        assert (reader.proposed(), reader.verdicts()) == (expected.proposed(), expected.verdicts())
    copies = [slim_copy(folder, tmp_path / place).journal for folder, place in ((whole, "d"), (gone_on, "e"))]
    assert journal_digest(copies[0]) == journal_digest(copies[1])


def slim_copy(folder, runs):
    copy = RunFolder(runs, folder.name)
    copy.path.mkdir(parents=True)
    export_journal(folder.journal, runs / "run.evonorm", slim=True)
    import_journal(runs / "run.evonorm", copy.journal)
    return copy


@pytest.mark.parametrize("seed", [0, 1])
def test_a_search_stopped_and_resumed_is_the_undisturbed_one(tmp_path, seed):
    """With the laptop's own table: a verdict that depends on what came before in the session shows here."""
    laptop = load_recipe(Path("laptop"))
    recipe = replace(FAKE, seed=seed, search=laptop.search)
    whole, _ = search(tmp_path / "a", "whole", recipe, proposals=2400)
    pieces, _ = search(tmp_path / "b", "pieces", recipe, proposals=700)
    for proposals in (1100, 1900, 2400):
        resume_search(pieces, Budget(proposals=proposals), quiet())
    assert journal_digest(pieces.journal) == journal_digest(whole.journal)


def test_the_screen_knows_nothing_of_what_came_before():
    """Graphs of one fingerprint may differ near the guard of the division; the first one must not speak for all."""
    recipe = replace(FAKE, search=load_recipe(Path("laptop")).search)
    rng = np.random.default_rng(3)
    graphs = [mutate(mutate(parent, rng), rng) for parent in with_small_divisors(rng) for _ in range(60)]
    forth, back = create_search(recipe).screen, create_search(recipe).screen
    one_way = [forth(graph) for graph in graphs]
    assert one_way == [back(graph) for graph in reversed(graphs)][::-1]
    assert len({found.rejected and found.rejected.test for found in one_way}) > 3


def with_small_divisors(rng):
    return [
        with_dead_nodes(Graph.parse(formula), rng)
        for formula in ("x / std_bwh(x) + v0 / v0", "x * sigmoid(x / v0) / rms_wh(x)", "x / max(std_wh(x), v0 / v0)")
    ]


def test_free_checks_shared_scores_and_a_ladder_give_the_same_digest_whoever_computes(tmp_path):
    digests = set()
    for name, settings in (("inline", INLINE), ("two", workers(2))):
        folder, _ = search(tmp_path, name, replace(kill_harness.CHEAP, workers=settings), candidates=60)
        digests.add(journal_digest(folder.journal))
    assert len(digests) == 1
    with folder.reader() as reader:
        verdicts = reader.verdicts()
        rows = list(reader.candidates())
        ledger = read_ledger(reader)
    first, second = (StageKey(Test.RUNG, "wide", number) for number in (1, 2))
    told = {
        CandidateVerdict("rejected", Test.VARIES_OVER_SPACE),
        *(CandidateVerdict("rejected", Test.RUNG, number) for number in (1, 2)),
    }
    assert told <= set(verdicts)
    assert any(row.proposal.reused for row in rows)
    sent = [row for row in rows if row.proposal.settled is None]
    assert ledger[first].candidates == len(sent)
    assert ledger[second].steps == 2 * sum(len(row.outcome.stages) > 1 for row in sent)
    assert sum(row.steps for row in ledger.values()) == sum(row.steps for row in rows)
    assert ledger[second].rejected == verdicts[CandidateVerdict("rejected", Test.RUNG, 2)]
    assert sum(row.rejected for row in ledger.values()) == sum(isinstance(row.outcome, Rejected) for row in sent)


def test_candidates_count_what_reaches_a_worker(tmp_path):
    folder, _ = search(tmp_path, "counted", candidates=30)
    with folder.reader() as reader:
        verdicts = reader.verdicts()
        assert verdicts[CandidateVerdict("pending")] == 0
        assert verdicts[SCORED] + verdicts[CandidateVerdict("rejected", Test.QUALITY)] == 30 + len(FAKE.references)
        assert verdicts[CandidateVerdict("rejected", Test.READS_X)] > 0
        assert [c.proposal.name for c in reader.references()] == ["bn-relu", "evonorm-b0"]
        rows = leaderboard(reader, 5)
        assert [row.average for row in rows] == sorted((row.average for row in rows), reverse=True)


def test_steps_bound_a_run_reproducibly(tmp_path):
    first, ended = search(tmp_path, "a", steps=400)
    assert ended == "steps"
    second, _ = search(tmp_path, "b", replace(FAKE, workers=workers(2)), steps=400)
    assert journal_digest(first.journal) == journal_digest(second.journal)
    with first.reader() as reader:
        assert 400 <= reader.cost()[0] < 400 + 17 * FAKE.search.lag


def test_proposals_bound_a_run_exactly(tmp_path):
    folder, ended = search(tmp_path, "a", replace(FAKE, workers=workers(2)), proposals=50)
    assert ended == "proposals"
    with folder.reader() as reader:
        assert reader.proposed() == 50 + len(reader.references())
        assert not reader.pending()


def test_going_on_in_pieces_is_the_same_as_in_one(tmp_path):
    whole, _ = search(tmp_path, "whole", candidates=40)
    pieces, _ = search(tmp_path, "pieces", candidates=7)
    for candidates in (8, 25, 40):
        assert resume_search(pieces, Budget(candidates=candidates), quiet()) == "candidates"
    assert journal_digest(whole.journal) == journal_digest(pieces.journal)
    assert resume_search(pieces, Budget(), quiet()) == "candidates"  # the last bound, met already
    assert journal_digest(whole.journal) == journal_digest(pieces.journal)


def test_a_time_budget_ends_the_run_and_marks_it(tmp_path):
    slow = replace(FAKE, fitness={"seconds": 0.05}, workers=workers(2))
    folder, ended = search(tmp_path, "timed", slow, minutes=0.01)
    assert ended == "minutes"
    with folder.reader() as reader:
        assert [body["why"] for _, body in reader.events("not reproducible")]
        (_, end) = reader.events("session ended")[-1]
        assert 1 <= end["unfinished"] <= 2  # what the clock threw away is counted
        assert 0 < end["seconds"] < 2 * 60
        assert f"{end['unfinished']} unfinished evaluation(s)" in cut_short(reader)
    assert resume_search(folder, Budget(candidates=40), quiet()) == "candidates"
    bounded, _ = search(tmp_path, "bounded", replace(slow, workers=INLINE, fitness={"seconds": 0.05}), candidates=40)
    assert journal_digest(folder.journal) == journal_digest(bounded.journal)


def test_arrival_order_runs_and_resumes(tmp_path):
    recipe = replace(FAKE, search=replace(FAKE.search, order="arrival"), workers=workers(2))
    folder, _ = search(tmp_path, "arrival", recipe, candidates=20)
    assert resume_search(folder, Budget(candidates=40), quiet()) == "candidates"
    with folder.reader() as reader:
        assert reader.verdicts()[CandidateVerdict("pending")] == 0
        assert sum(c.proposal.rejected is None for c in reader.candidates()) == 42


def test_a_faulty_candidate_costs_one_failed_outcome_and_never_the_search(tmp_path):
    """Crashes, hangs, NaN, garbage and bugs: each tried twice, then out; the rest goes on as if nothing had been."""
    settings = workers(2, slowest=1.0, least_seconds=0.4)
    recipe = replace(FAKE, evaluate="tests.runner.fake_fitness:faulty", workers=settings)
    folder, ended = search(tmp_path, "faulty", recipe, candidates=40)
    assert ended == "candidates"
    with folder.reader() as reader:
        failed = [c for c in reader.candidates() if isinstance(c.outcome, Failed)]
        attempts = [body["candidate"] for _, body in reader.events("attempt failed")]
        reasons = {body["reason"] for _, body in reader.events("attempt failed")}
        assert {"crash", "time", "garbage", "error"} <= reasons
        assert sorted(attempts) == sorted(2 * [c.proposal.index for c in failed])
        assert reader.verdicts()[SCORED] > 5
        scored = [c.outcome for c in reader.candidates() if isinstance(c.outcome, Scores)]
        assert all("nan" not in repr(outcome) for outcome in scored)
        assert any("time limit" in body["why"] for _, body in reader.events("not reproducible"))
    again, _ = search(tmp_path, "again", replace(recipe, workers=replace(settings, number=1)), candidates=40)
    assert journal_digest(folder.journal) == journal_digest(again.journal)


def test_a_failed_candidate_is_not_tried_again_after_a_resume(tmp_path):
    recipe = replace(
        FAKE, evaluate="tests.runner.fake_fitness:faulty", workers=workers(1, slowest=1.0, least_seconds=0.4)
    )
    folder, _ = search(tmp_path, "faulty", recipe, candidates=10)
    with folder.reader() as reader:
        before = len(reader.events("attempt failed"))
    resume_search(folder, Budget(candidates=10), quiet())
    with folder.reader() as reader:
        assert len(reader.events("attempt failed")) == before


def test_a_reference_that_cannot_be_judged_stops_the_search_with_the_reason(tmp_path):
    with pytest.raises(ValueError, match=r"reference bn-relu cannot be evaluated.*") as caught:
        search(tmp_path, "broken", replace(FAKE, evaluate="tests.runner.fake_fitness:broken"), candidates=5)
    assert "the data is missing" in str(caught.value)
    folder = RunFolder(tmp_path, "broken")
    with folder.reader() as reader:
        assert reader.verdicts() == {CandidateVerdict("pending"): 1}


def test_references_are_judged_once_per_recipe(tmp_path, monkeypatch):
    here = {"versions": {}, "commit": "abc", "machine": {}}
    monkeypatch.setattr("evonorm.runner.run_search.surroundings", lambda: here)
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_FITNESS_LOG", str(log))
    first, _ = search(tmp_path, "first", candidates=6)
    assert len(log.read_text().splitlines()) == 8
    second, _ = search(tmp_path, "second", candidates=6)
    assert len(log.read_text().splitlines()) == 8 + 6
    assert journal_digest(first.journal) == journal_digest(second.journal)
    with first.reader() as a, second.reader() as b:
        assert a.cost() == b.cost()  # the cost is counted all the same
    here["commit"] = "def+"  # code with changes is never trusted with the cache
    search(tmp_path, "third", candidates=6)
    assert len(log.read_text().splitlines()) == 8 + 6 + 8


def test_another_commit_may_go_on_and_is_noted(tmp_path, monkeypatch):
    here = {"versions": {}, "commit": "abc", "machine": {}}
    monkeypatch.setattr("evonorm.runner.run_search.surroundings", lambda: here)
    folder, _ = search(tmp_path, "run", candidates=3)
    here["commit"] = "def"
    console = quiet()
    resume_search(folder, Budget(candidates=6), console)
    assert "abc -> def" in console.console.file.getvalue()
    with folder.reader() as reader:
        assert [body["commit"] for _, body in reader.events("session started")] == ["abc", "def"]


def test_a_second_search_of_the_same_name_and_a_second_driver_are_refused(tmp_path):
    folder, _ = search(tmp_path, "run", candidates=3)
    before = folder.journal.read_bytes()
    with pytest.raises(ValueError, match="evonorm resume run"):
        search(tmp_path, "run", candidates=3)
    slow = replace(FAKE, fitness={"seconds": 0.3})
    driver = threading.Thread(target=search, args=(tmp_path, "busy", slow), kwargs={"candidates": 4})
    driver.start()
    while not (tmp_path / "busy" / "journal.sqlite").exists():
        time.sleep(0.01)
    with pytest.raises(ValueError, match=f"written by process {os.getpid()}"):
        resume_search(RunFolder(tmp_path, "busy"), Budget(candidates=9), quiet())
    driver.join()
    assert folder.journal.read_bytes() == before


def test_resuming_with_another_recipe_or_without_a_run_is_refused(tmp_path):
    folder, _ = search(tmp_path, "run", candidates=3)
    other = tmp_path / "other.toml"
    other.write_text('seed = 9\nevaluate = "tests.runner.fake_fitness:by_hash"\n')
    with pytest.raises(ValueError, match="is not the recipe of run 'run'"):
        resume_search(folder, Budget(), quiet(), other)
    with pytest.raises(ValueError, match=r"there is no run 'nothing' in .* Known runs: run"):
        resume_search(RunFolder(tmp_path, "nothing"), Budget(), quiet())
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("name", ["a/b", "../up", "", ".hidden", "-n", "a b", "x" * 200])
def test_impossible_run_names_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match="a run's name is made of"):
        RunFolder(tmp_path, name)


@pytest.mark.parametrize(
    "bound",
    [
        {"minutes": 0.0},
        {"minutes": -1.0},
        {"candidates": 0},
        {"proposals": 0},
        {"steps": -5},
        {"minutes": float("nan")},
    ],
)
def test_impossible_budgets_are_refused(bound):
    with pytest.raises(ValueError, match="must be above 0"):
        Budget(**bound)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sead = 1", "unknown key 'sead'. Did you mean 'seed'"),
        ("[search]\ntournament_share = 0", r"search: tournament_share must lie above 0"),
        ("[search]\nwindos = 3", "unknown key 'windos'. Did you mean 'window'"),
        ("[workers]\nnumber = -2", "number must be at least 1, got -2"),
        ('references = ["bn-rulu"]', "a reference must be a layer of the catalog, got 'bn-rulu'"),
        ("seed = ", "is not a TOML file"),
        ("fitness = 3", "fitness must be a table"),
    ],
)
def test_a_wrong_recipe_says_where(tmp_path, text, message):
    path = tmp_path / "recipe.toml"
    path.write_text(f'evaluate = "tests.runner.fake_fitness:by_hash"\n{text}\n')
    with pytest.raises(ValueError, match=message):
        load_recipe(path)
    with pytest.raises(ValueError, match="there is no recipe"):
        load_recipe(tmp_path / "missing.toml")


def test_a_recipe_survives_the_journal(tmp_path):
    folder, _ = search(tmp_path, "run", candidates=1)
    with folder.reader() as reader:
        header = reader.header()
    assert recipe_from_table(header["recipe"], "here") == FAKE
    assert header["versions"]["torch"]
    assert header["machine"]["cores"] == os.cpu_count()


def test_fresh_names_count_up(tmp_path):
    assert fresh_name(tmp_path, "laptop") == "laptop-1"
    (tmp_path / "laptop-1").mkdir()
    assert fresh_name(tmp_path, "laptop") == "laptop-2"


def test_plain_lines_tell_the_story(tmp_path):
    console = quiet()
    folder, _ = search(tmp_path, "run", console=console, candidates=20)
    text = console.console.file.getvalue()
    assert "new best: candidate" in text
    assert "best so far: candidate" in text
    assert "proposed" in text
    with folder.reader() as reader:
        best = leaderboard(reader, 1)[0]
    assert f"new best: candidate {best.candidate.proposal.index}, {100 * best.average:.2f} %" in text


def test_the_live_panel_draws(tmp_path):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=150)
    search(
        tmp_path, "run", replace(FAKE, fitness={"seconds": 0.1}, workers=workers(2)), Terminal(terminal), candidates=16
    )
    text = terminal.file.getvalue()
    assert "bn-relu" in text
    assert "candidates left" in text
    assert "best so far: candidate" in text


@pytest.mark.parametrize("kind", kill_harness.RECIPES)
def test_kill_minus_9_at_twenty_moments_changes_nothing(tmp_path, kind):
    """Driver or worker, killed at 20 random moments and resumed each time: the digest of the undisturbed run.

    Nothing is evaluated twice except what was in flight at a kill.
    """
    command = [sys.executable, "-m", "tests.runner.kill_harness", tmp_path, "20", kind]
    harness = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert harness.returncode == 0, harness.stdout + harness.stderr
    killed, calm = (kill_harness.place_of(tmp_path, name) for name in ("killed", "calm"))
    assert journal_digest(killed.journal) == journal_digest(calm.journal)
    with Reader(killed.journal) as reader:
        assert len(reader.events("session started")) >= 10
        assert reader.verdicts()[CandidateVerdict("pending")] == 0
        sessions, broken = len(reader.events("session started")), len(reader.events("attempt failed"))
    evaluated = (tmp_path / "killed.log").read_text().split("\n")[:-1]
    needed = (tmp_path / "calm.log").read_text().split("\n")[:-1]
    done, wanted = [line.split()[0] for line in evaluated], [line.split()[0] for line in needed]  # layer and seed
    assert set(done) == set(wanted)
    assert len(wanted) == len(set(wanted))
    assert len(done) - len(wanted) <= 2 * (sessions - 1) + broken  # two workers: two in flight at a kill


def test_a_ctrl_c_ends_with_everything_written(tmp_path):
    """One SIGINT: ends soon with nothing torn, and a resume ends as if nothing had been."""
    script = f"from tests.runner import kill_harness; kill_harness.drive({str(tmp_path)!r}, 'stopped')"
    process = subprocess.Popen([sys.executable, "-c", script], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    log = tmp_path / "stopped.log"
    while not (log.exists() and len(log.read_text().splitlines()) > 5):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0].strip() == "stopped"
    folder = kill_harness.place_of(tmp_path, "stopped")
    with folder.reader() as reader:
        assert [body["why"] for _, body in reader.events("session ended")] == ["stopped"]
    resume_search(folder, Budget(), quiet())
    calm, _ = search(
        tmp_path, "calm", replace(kill_harness.RECIPE, workers=INLINE), candidates=kill_harness.CANDIDATES["plain"]
    )
    assert journal_digest(folder.journal) == journal_digest(calm.journal)
