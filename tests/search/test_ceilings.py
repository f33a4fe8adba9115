"""Giving up half-way: never on what is known to clear a rung, seldom on what would, and often enough to be worth it."""

import numpy as np
import pytest

from evonorm.experiments.halfway_stops import replay, replay_table
from evonorm.graph import Graph
from evonorm.journal import Candidate, Failed, Proposal, Rejected, Scores, Stage
from evonorm.search import Search, SearchSettings
from evonorm.search.ceilings import FEWEST, NEVER_STOPPED, Ceilings, rungs_cleared

STEPS, HURDLE = 40, 0.2


def learning_curve(rng):
    """(half-way loss, accuracy at the end) of a synthetic run: a loss that falls from 2.3 with a speed of its own."""
    speed = rng.choice([0.0, 0.002, 0.005, 0.01, 0.02], p=[0.5, 0.2, 0.1, 0.1, 0.1]) * rng.uniform(0.8, 1.2)
    spikes = rng.exponential(0.05)
    loss = 2.3 * np.exp(-speed * np.arange(1, STEPS + 1)) + spikes + rng.normal(0, 0.02, STEPS)
    return float(loss[STEPS // 2 - 1]), float(np.clip(0.1 + 0.5 * (2.3 + spikes - loss[-1]), 0, 1))


def outcome(loss, accuracy, hurdle=HURDLE):
    stages = (Stage("rung 1", "a", STEPS, 1.0, {"halfway_loss": loss, "accuracy": accuracy, "ending": "reached"}),)
    return Scores({"a": accuracy}, stages) if accuracy >= hurdle else Rejected("rung 1", None, {}, stages)


def test_no_recorded_curve_that_reached_the_hurdle_is_ever_above_the_ceiling():
    rng = np.random.default_rng(0)
    curves = [learning_curve(rng) for _ in range(500)]
    ceilings = Ceilings((True,))
    for loss, accuracy in curves:
        ceilings.learn(outcome(loss, accuracy))
    (ceiling,) = ceilings.losses()
    assert all(loss <= ceiling for loss, accuracy in curves if accuracy >= HURDLE)
    stopped = sum(loss > ceiling for loss, _ in curves)
    assert stopped > 0.2 * sum(accuracy < HURDLE for _, accuracy in curves)


def test_among_curves_that_reach_the_hurdle_wrong_stops_are_as_rare_as_promised():
    """One after the other, as in a search; the promise is 1 / (n + 1) of those that would clear, n at least FEWEST."""
    wrong = right = cleared = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ceilings = Ceilings((True,))
        for index in range(300):
            loss, accuracy = learning_curve(rng)
            (ceiling,) = ceilings.losses()
            cleared += accuracy >= HURDLE and ceiling > 0
            if 0 < ceiling < loss and index % NEVER_STOPPED:
                wrong += accuracy >= HURDLE
                right += accuracy < HURDLE
            else:
                ceilings.learn(outcome(loss, accuracy))
    assert wrong <= cleared / (FEWEST + 1)
    assert right > 20 * wrong


def test_the_promise_holds_even_where_the_loss_says_nothing():
    wrong = cleared = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        ceilings = Ceilings((True,))
        for loss in rng.random(FEWEST):
            ceilings.learn(outcome(float(loss), 1.0))
        cleared += 10
        wrong += int((rng.random(10) > ceilings.losses()[0]).sum())
    assert wrong / cleared == pytest.approx(1 / (FEWEST + 1), rel=0.25)


def test_too_few_stop_nobody_and_a_rung_that_does_not_ask_stops_nobody():
    ceilings = Ceilings((True, False))
    stages = tuple(Stage(f"rung {i}", "a", 1, 1.0, {"halfway_loss": 2.0, "accuracy": 0.5}) for i in (1, 2))
    for _ in range(FEWEST - 1):
        ceilings.learn(Scores({"a": 0.5}, stages))
    assert ceilings.losses() == (0.0, 0.0)
    ceilings.learn(Scores({"a": 0.5}, stages))
    assert ceilings.losses() == (2.0, 0.0)


def test_what_counts_as_cleared():
    def stages(*numbers):
        names = [*(f"rung {number}" for number in numbers), "quality"]
        return tuple(Stage(name, "a", 1, 1.0) for name in names)

    assert rungs_cleared(Scores({"a": 0.5}, stages(1, 2))) == 2
    assert rungs_cleared(Rejected("quality", "a", {}, stages(1, 2))) == 2
    assert rungs_cleared(Rejected("rung 2", None, {}, stages(1, 2))) == 1
    assert rungs_cleared(Rejected("rung 2: behind", "a", {}, stages(1, 2))) == 1
    assert rungs_cleared(Failed("crash", stages(1, 2))) == 1
    assert rungs_cleared(Rejected("quality", "a", {}, stages())) == 0


def run(search, candidates):
    """Every candidate's outcome by the ceiling that came with it; returns the journal's rows."""
    rng = np.random.default_rng(0)
    rows = []
    while len(rows) < candidates:
        proposal = search.ask()
        loss, accuracy = learning_curve(rng)
        told = outcome(loss, accuracy)
        if proposal.ceilings and loss > proposal.ceilings[0]:
            stage = Stage("rung 1", "a", STEPS // 2, 1.0, {"halfway_loss": loss, "ending": "behind"})
            told = Rejected("rung 1: behind", "a", {}, (stage,))
        search.tell(proposal.index, told)
        rows.append(Candidate(proposal, told))
    return rows


def make():
    return Search(SearchSettings(lag=1, window=50), 0, percentiles=(0.0,), gives_up=(True,))


def test_ceilings_travel_in_the_proposal_and_a_replay_gives_them_back():
    search = make()
    rows = run(search, 400)
    with_ceiling = [row.proposal for row in rows if row.proposal.ceilings]
    assert len(with_ceiling) > 100
    assert not any(proposal.index % NEVER_STOPPED == 0 for proposal in with_ceiling)
    heights = [proposal.ceilings[0] for proposal in with_ceiling]
    assert heights == sorted(heights)  # a record only grows
    restored = make()
    restored.restore(rows)
    assert restored.ready()
    assert restored.ceilings.losses() == search.ceilings.losses()
    assert restored.ask() == search.ask()


def test_steps_count_as_they_were_spent():
    search = make()
    rows = run(search, 400)
    search.ready()
    stopped = sum(isinstance(row.outcome, Rejected) and row.outcome.test == "rung 1: behind" for row in rows)
    assert stopped > 30
    assert search.known_steps == STEPS * len(rows) - stopped * STEPS // 2


def test_a_journal_tells_what_the_rule_would_have_done():
    rng = np.random.default_rng(0)
    graph = Graph.parse("x")
    curves = [learning_curve(rng) for _ in range(400)]
    rows = [Candidate(Proposal(i, graph, "random", i), outcome(*curve)) for i, curve in enumerate(curves)]
    counts = replay(rows)[1]
    assert counts["known"] == 400
    assert counts["cleared"] == sum(accuracy >= HURDLE for _, accuracy in curves)
    assert 30 < counts["stopped"] < counts["known"] - counts["cleared"]
    assert counts["saved"] == counts["stopped"] * STEPS // 2
    assert counts["wrong"] <= 3
    assert replay_table({1: counts}).row_count == 1
