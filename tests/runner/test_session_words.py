"""What a person sees while nothing is scored yet: who is at what, and when the first figure comes."""

import io
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from evonorm.cli.search_display import Terminal
from evonorm.graph import Graph
from evonorm.journal import (
    Candidate,
    Noise,
    Progress,
    Proposal,
    Ranked,
    RunFolder,
    Scores,
    Stage,
    StageKey,
    import_journal,
)
from evonorm.runner import TimeLeft, best_line, load_recipe, work_lines
from evonorm.runner.budget import Budget
from evonorm.runner.driver import At, Driver
from evonorm.runner.run_search import start_search
from evonorm.runner.session_words import bar, first_score_line, rough
from evonorm.runner.time_left import planned_stages
from evonorm.workers import WorkerNote
from tests.runner.test_run_search import FAKE

ROOT = Path(__file__).parent.parent.parent
BN_RELU = Proposal(0, Graph.parse("max(x, 0)"), "reference", 0, name="bn-relu")


def test_the_plan_is_what_a_reference_went_through(tmp_path):
    folder = RunFolder(tmp_path, "b")
    folder.path.mkdir()
    import_journal(ROOT / "studies" / "search" / "b-evolution.evonorm", folder.journal)
    with folder.reader() as reader:
        fitness, (first, *_) = reader.header()["recipe"]["fitness"], reader.references()
    fitness = {key: value for key, value in fitness.items() if key in load_recipe(Path("laptop")).fitness}
    went = [(stage.key, stage.steps) for stage in first.outcome.stages if stage.name != "stability"]
    assert [row for row in planned_stages(fitness) if row[0].name != "stability"] == went
    keys = [key for key, _ in planned_stages(fitness)]
    assert keys == [stage.key for stage in first.outcome.stages]


@pytest.fixture
def driver():
    laptop = load_recipe(Path("laptop"))
    values = {"recipe": laptop, "in_flight": {0: BN_RELU}, "references": [], "verdicts": Counter(), "at": {}}
    values |= {"begun": {0: time.monotonic() - 100.0}, "seconds_left": lambda: None}
    return SimpleNamespace(**values)


def at(stage, anchor, step, steps, seconds, rung=None):
    now = time.monotonic()
    return At(Progress(stage, anchor, step, steps, rung=rung), now, now - seconds, now - seconds)


def test_an_estimate_needs_some_steps_and_then_goes_by_them(driver):
    left = TimeLeft(driver)
    assert left.of(0) is None
    assert "no estimate" in first_score_line(driver, left)[0]
    plan = planned_stages(driver.recipe.fitness)
    everything = sum(steps for _, steps in plan)
    driver.at[0] = at("rung", "mobilenet-nano", 10, 20, 50.0, rung=1)
    assert left.of(0) == pytest.approx(50.0 * (everything - 10) / 10, rel=0.01)
    driver.at[0] = at("training", "efficientnet-nano", 150, 150, 50.0)
    assert left.of(0) == pytest.approx(0.0, abs=0.01)


def test_with_a_reference_behind_it_an_estimate_goes_by_its_stages(driver):
    plan = planned_stages(driver.recipe.fitness)
    stages = tuple(Stage(key.name, key.anchor, steps, 10.0, rung=key.rung) for key, steps in plan)
    driver.references.append(Candidate(BN_RELU, Scores({"a": 0.3}, stages)))
    driver.at[0] = at(plan[-2][0].name, plan[-2][0].anchor, 75, 150, 1.0)
    assert TimeLeft(driver).of(0) == pytest.approx(5.0 + 10.0)


def test_a_session_that_ends_before_its_first_score_says_so(driver):
    driver.at[0] = at("rung", "mobilenet-nano", 1, 20, 50.0, rung=1)
    driver.seconds_left = lambda: 60.0
    assert "after the end of this session: give it more minutes" in first_score_line(driver, TimeLeft(driver))[0]


def test_everybody_at_work_has_a_bar(driver):
    left = TimeLeft(driver)
    (line,) = work_lines(driver, left)
    assert "starting: imports, 2 min  bn-relu" in line
    driver.at[0] = at("rung", "mobilenet-nano", 10, 20, 50.0, rung=1)
    (line,) = work_lines(driver, left)
    assert line.startswith("━━━━━━━━──────── 0: rung 1 mobilenet-nano 10/20, 2 min, about ")
    assert (bar(0, 0), bar(7, 5)) == ("─" * 16, "━" * 16)
    assert [rough(each) for each in (8, 89, 100, 6000)] == ["8 s", "89 s", "2 min", "1.7 h"]


def test_the_best_is_told_with_its_runs_and_interval():
    reference = Candidate(BN_RELU, Scores({"a": 0.33}))
    assert best_line([], []) == "best so far: none yet"
    assert best_line([], [reference]) == "best so far: none yet (bn-relu 33.0 % (n = 1))"
    found = replace(BN_RELU, index=117, name=None)
    ranked = Ranked(Candidate(found, None), {"a": 0.35}, 4, 0, (0.35,) * 4, Noise(0.01, 20))
    assert best_line([ranked], [reference]) == (
        "best so far: candidate 117 35.0 % ± 1.0 (n = 4); bn-relu 33.0 % ± 2.1 (n = 1)"
    )


def test_steps_of_a_worker_in_this_process_reach_the_display(tmp_path):
    seen = []

    class Display:
        def show(self, driver):
            seen.extend(each.progress for each in driver.at.values())

        def close(self):
            pass

    class Audience:
        def say(self, text):
            pass

        def watch(self, reader, title):
            return Display()

    start_search(RunFolder(tmp_path, "run"), FAKE, Budget(candidates=1), Audience())
    assert Progress("training", "wide", 0, 0) in seen


def test_a_step_is_no_new_stage():
    shown = SimpleNamespace(show=lambda _: None, close=lambda: None)
    driver = Driver.__new__(Driver)
    driver.at, driver.display = {}, shown
    stage = {"name": "training", "anchor": "wide", "rung": None}
    driver.overhear(WorkerNote("stage", {"task": 3, "stage": {**stage, "step": 1, "steps": 9}}))
    begun = driver.at[3]
    driver.overhear(WorkerNote("stage", {"task": 3, "stage": {**stage, "step": 5, "steps": 9}}))
    assert (driver.at[3].since, driver.at[3].first) == (begun.since, begun.first)
    assert driver.at[3].progress == Progress("training", "wide", 5, 9)
    driver.overhear(WorkerNote("stage", {"task": 3, "stage": {"name": "own"}}))
    assert driver.at[3].progress.key == StageKey("own", "")
    assert driver.at[3].since >= begun.since
    assert driver.at[3].first == begun.first


def test_lines_go_to_a_file_while_nothing_is_scored(tmp_path):
    text = io.StringIO()
    slow = replace(FAKE, fitness={"seconds": 0.01})
    start_search(RunFolder(tmp_path, "run"), slow, Budget(candidates=3), Terminal(Console(file=text, width=200)))
    assert "starting: imports" in text.getvalue()
    assert "first score: no estimate before some steps are done" in text.getvalue()
    assert "best so far: none yet (bn-relu" in text.getvalue()


def test_a_second_search_with_one_seed_is_told_of_the_first(tmp_path):
    told = {}
    for name, recipe in (("first", FAKE), ("again", FAKE), ("other", replace(FAKE, seed=6))):
        text = told[name] = io.StringIO()
        folder = RunFolder(tmp_path, name)
        start_search(folder, recipe, Budget(candidates=1), Terminal(Console(file=text, width=200)))
    assert "The run first is this very search" in told["again"].getvalue()
    assert "evonorm resume first" in told["again"].getvalue()
    assert not any("this very search" in told[name].getvalue() for name in ("first", "other"))
