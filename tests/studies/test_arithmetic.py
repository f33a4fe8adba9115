"""The studies' own arithmetic; what they run is tested where it lives."""

import pytest

from evonorm.graph import Graph
from evonorm.journal import Candidate, Proposal, Rejected, Scores, Stage
from evonorm.runner import Measurement
from studies.observations import study as observations
from studies.search import journal_stories as stories


@pytest.fixture
def validation():
    pytest.importorskip("scipy")
    from studies.validation import study

    return study


def measured(layer, seed, validated, tested):
    stages = (
        Stage("quality", "a", 100, 1.0, {"accuracy": 0.99}),
        Stage("training", "a", 300, 1.0, {"accuracy": validated, "test_accuracy": tested}),
    )
    return Measurement(layer, seed, Scores({"a": validated}, stages))


def test_the_interval_of_two_layers_is_students(validation):
    from scipy import stats

    ours, theirs = [41.0, 43.5], [47.2, 46.0]
    interval = stats.ttest_ind(ours, theirs).confidence_interval(0.95)
    spread = validation.pooled_spread([ours, theirs])
    assert spread[1] == 2
    expected = f"-4.4 [{interval.low:+.1f}, {interval.high:+.1f}]"
    assert validation.difference(ours, theirs, *spread) == expected


def test_one_seed_gives_no_interval(validation):
    assert validation.pooled_spread([[41.0], [43.0]]) == (0.0, 0)
    assert validation.difference([41.0], [43.0], 0.0, 0) == "-2.0"
    assert validation.difference([], [43.0], 1.0, 3) == "-"


def test_test_pictures_choose_nothing(validation):
    found = [
        measured("x / rms_wh(x)", 0, 0.4, 0.9),
        measured("x / std_wh(x)", 0, 0.5, 0.1),
        measured("bn-relu", 0, 0.9, 0.9),
    ]
    assert validation.best_found(found) == "x / std_wh(x)"
    rows = validation.rows(validation.accuracies_of(found), ["a"])
    assert [row[0] for row in rows if row[0]] == ["`bn-relu`", "`x / rms_wh(x)`", "`x / std_wh(x)`"]
    assert ["`x / std_wh(x)`", "test %", "**10.0** (n = 1)"] in rows
    assert ["", "less bn-relu", "-80.0"] in rows
    turned_down = Measurement("exp(x)", 1, Rejected("quality", "a"))
    assert validation.not_finished([*found, turned_down]) == ["exp(x), seed 1: quality on a"]


def test_what_quality_saves_is_the_rest_of_what_it_turned_down():
    stage = Stage("quality", "a", 60, 1.0)
    outcomes = [
        Rejected("quality", "a", {"accuracy": 0.1}, (stage,)),  # would have gone on to 2 x 150
        Rejected("quality", "a", {"step": 7}, (Stage("quality", "a", 7, 1.0),)),  # blew up
        Scores({"a": 0.5, "b": 0.5}, (stage, Stage("training", "a", 90, 1.0), Stage("training", "b", 150, 1.0))),
    ]
    said = stories.quality_story(outcomes, {"training": {"steps": 150}, "anchors": ["a", "b"]})
    assert "turned down 2 of 3" in said
    assert "(1 by a loss" in said
    assert "367 training steps with it, 607 without" in said


def test_ahead_on_all_anchors_is_counted_for_each_layer():
    scores = [Scores({"a": 0.3, "b": 0.3}), Scores({"a": 0.5, "b": 0.2}), Scores({"a": 0.4, "b": 0.4})]
    reference = {"bn-relu": Scores({"a": 0.4, "b": 0.3})}
    assert stories.sparsity_rows(scores, reference) == [["at least bn-relu", "2", "2", "1"]]
    assert [row[0] for row in stories.pair_rows(scores)] == ["a, b"]
    assert stories.pair_rows(scores)[0][1] == "-0.50 (n = 3)"


def test_who_learns_on_one_anchor_is_asked_on_the_next():
    learns, fails = ({"accuracy": accuracy} for accuracy in (0.3, 0.1))
    passed = Stage("quality", "a", 60, 1.0, learns)
    outcomes = [
        Rejected("quality", "a", fails, (Stage("quality", "a", 60, 1.0, fails),)),
        Rejected("quality", "a", {"step": 3}, (Stage("quality", "a", 3, 1.0, {"step": 3}),)),
        Rejected("quality", "b", fails, (passed, Stage("quality", "b", 60, 1.0, fails))),
        Rejected("stability", "a", {"step": 3}, (passed, Stage("quality", "b", 60, 1.0, learns))),
    ]
    assert stories.learning_rows(outcomes, ["a", "b"]) == [
        ["a", "4", "1", "1", "2", "30.0"],
        ["b", "2", "0", "1", "1", "30.0"],
    ]


def test_observations_count_who_blew_up_as_chance_and_pair_who_was_asked_twice():
    stages = [Stage("quality", "a", 60, 1.0, {"accuracy": 0.31}), Stage("quality", "b", 5, 1.0, {"step": 5})]
    proposal = Proposal(0, Graph.parse("x"), "random", 0)
    candidate = Candidate(proposal, Rejected("quality", "b", {"step": 5}, tuple(stages)))
    twice = observations.looked_at(candidate)
    assert twice == {"a": 31.0, "b": 10.0}
    histogram, other, pair = observations.figures_of(["a", "b"], [twice, {"a": 12.0}], {"bn-relu": twice})
    assert [row for row in histogram.rows if row[2]] == [(12.0, 13.0, 1), (31.0, 32.0, 1)]
    assert [row for row in other.rows if row[2]] == [(10.0, 11.0, 1)]
    assert pair.rows == [(31.0, 10.0)]


def test_observations_of_survivors_count_every_training_once():
    proposal, stage = Proposal(0, Graph.parse("x"), "random", 0), Stage("quality", "a", 60, 1.0, {"accuracy": 0.31})
    accuracies = {"a": 0.25, "b": 0.5, "c": 0.125}
    survivor = observations.scored(Candidate(proposal, Scores(accuracies, (stage,))))
    assert survivor == {"a": 25.0, "b": 50.0, "c": 12.5}
    assert observations.scored(Candidate(proposal, Scores(accuracies))) == {}
    assert observations.scored(Candidate(proposal, Rejected("quality", "a", {}, (stage,)))) == {}
    figures = observations.survivor_figures(["a", "b", "c"], [survivor], {})
    assert [figure.rows for figure in figures] == [[(25.0, 50.0)], [(25.0, 12.5)], [(50.0, 12.5)]]
