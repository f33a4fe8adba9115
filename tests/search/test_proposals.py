"""Children that differ from their parent, and equal layers that share their scores."""

from dataclasses import replace

import numpy as np
import pytest

from evonorm.fitness import screen
from evonorm.graph import Graph, simplify
from evonorm.journal import Failed, Rejected, Scores, Test
from evonorm.search import Screened, Search, SearchRecipe
from evonorm.search.evolution import STEPPING_STONE
from evonorm.search.proposals import new_child
from evonorm.search.variants.known_functions import KnownFunctions
from tests.search.test_search import likeness, run

CHEAP = SearchRecipe(window=50, smallest_tournament=8, lag=4, free_checks=True, attempts=5, runs_per_function=3)


def fingerprint(graph):
    return screen(graph).fingerprint


def make(settings=CHEAP, seed=3, references=("bn-relu",)):
    return Search(settings, seed, screen, references)


def noisy(proposal):
    """The likeness of the function, whatever its form, plus luck of the seed; every fourth size is rejected."""
    form = simplify(proposal.graph)
    luck = proposal.seed % 100 / 1000
    if len(form.nodes) % 4 == 3:
        return Rejected("quality", "resnet", {})
    return Scores({anchor: min(1.0, 0.8 * value + luck) for anchor, value in likeness(form).items()})


def test_a_child_differs_from_its_parent():
    parent = Graph.decode("exp:0 tanh:4 mul:5,5 sigmoid:0 add:4,2 mul:7,0")  # x * sigmoid(x), the rest is dead
    rng = np.random.default_rng(0)
    function = fingerprint(parent)

    def children(attempts):
        settings = replace(CHEAP, attempts=attempts)
        return [new_child(parent, rng, settings, lambda child: fingerprint(child) != function)[0] for _ in range(200)]

    lazy, eager = children(attempts=1), children(attempts=30)
    assert sum(fingerprint(child) == function for child in lazy) > 10
    assert not any(fingerprint(child) == function for child in eager)


def test_attempts_are_bounded():
    parent = Graph.parse("x * sigmoid(x)")
    child, _ = new_child(parent, np.random.default_rng(0), CHEAP, lambda _: False)
    assert len(child.nodes) == len(parent.nodes)


@pytest.fixture(scope="module")
def long_run():
    """Of so small graphs that many are the same function."""
    search = make(replace(CHEAP, nodes=4, window=300))
    return search, run(search, 6000, outcomes=noisy)


def test_no_function_is_trained_twice_but_the_best(long_run):
    _, rows = long_run
    trained = [row for row in rows if row.proposal.settled is None and row.proposal.function]
    functions = [row.proposal.function for row in trained]
    runs = {function: functions.count(function) for function in functions}
    assert max(runs.values()) <= 3
    assert sum(number > 1 for number in runs.values()) < 0.1 * len(runs)
    reused = [row for row in rows if row.proposal.reused]
    duplicates = [row for row in rows if row.proposal.rejected and row.proposal.rejected.test == Test.DUPLICATE]
    assert len(reused) > 50
    assert len(duplicates) > 10
    assert all(row.outcome.stages == () for row in reused + duplicates)


def test_the_twin_of_a_candidate_in_training_is_not_trained():
    search = make(replace(CHEAP, nodes=3, lag=8))
    rows = run(search, 800, workers=8, outcomes=noisy)
    twins = [row.proposal for row in rows if row.proposal.rejected and "in_training" in row.proposal.rejected.figures]
    assert len(twins) > 5
    for twin in twins:
        first = rows[twin.rejected.figures["in_training"]].proposal
        assert first.function == twin.function
        assert first.settled is None
        assert first.index < twin.index
    assert run(make(search.settings), 800, workers=3, seed=1, outcomes=noisy) == rows


def bends(graph):
    """A screen that passes what has a max and calls the rest straight."""
    straight = not any(node.op == "max" for _, node in graph.live_nodes)
    return Screened(Rejected(STEPPING_STONE, None) if straight else None, fingerprint(graph))


def test_stepping_stones_are_parents_while_the_population_is_small():
    settings = replace(CHEAP, free_checks=True, fresh_share=0.2)
    search = Search(settings, 3, bends)
    rows = run(search, 600, outcomes=noisy)
    stones = {row.proposal.index for row in rows if row.proposal.rejected == Rejected(STEPPING_STONE, None)}
    from_stones = [row.proposal for row in rows if row.proposal.parents and row.proposal.parents[0] in stones]
    scored = [row.proposal.index for row in rows if isinstance(row.outcome, Scores)]
    enough = scored[settings.smallest_tournament + settings.lag]
    assert len(from_stones) > 5
    assert all(proposal.index <= enough for proposal in from_stones)
    resumed = Search(settings, 3, bends)
    resumed.restore(rows[: from_stones[0].index])
    assert run(resumed, 600, outcomes=noisy) == rows[from_stones[0].index :]


def test_members_of_one_function_have_one_score(long_run):
    search, _ = long_run
    scores = {}
    for member in search.islands.of(0).members():
        assert scores.setdefault(member.function, member.accuracies) == member.accuracies
    assert len(scores) < len(search.islands.of(0))


@pytest.mark.parametrize("order", ["strict", "arrival"])
def test_replaying_the_journal_gives_the_state_back_without_a_fingerprint(order):
    whole = make(replace(CHEAP, order=order))
    rows = run(whole, 800, workers=1, outcomes=noisy)

    def never(_):
        raise AssertionError("a replay computes nothing")

    restored = Search(whole.settings, whole.seed, never, whole.references)
    assert restored.restore(rows) == []
    restored.ready()
    assert restored.islands.of(0).members() == whole.islands.of(0).members()
    assert restored.functions._known == whole.functions._known


def test_a_candidate_in_flight_does_not_change_the_order_of_the_population(long_run):
    """Reused scores enter at once, trained ones when they may be known: a resumed search must keep that order."""
    search, rows = long_run
    for cut in range(40, 400, 3):
        last_sent = max(i for i, row in enumerate(rows[:cut]) if row.proposal.settled is None)
        in_flight = [replace(row, outcome=None) if i == last_sent else row for i, row in enumerate(rows[:cut])]
        restored = [make(search.settings), make(search.settings)]
        for each, journal in zip(restored, (rows[:cut], in_flight), strict=True):
            each.restore(journal)
        assert restored[0].islands.of(0).members() == restored[1].islands.of(0).members()


def test_strict_order_is_the_same_for_any_number_of_workers():
    alone = run(make(), 500, outcomes=noisy)
    assert run(make(), 500, workers=4, seed=1, outcomes=noisy) == alone


def test_lucky_scores_are_averaged_away():
    functions = KnownFunctions(most_runs=3)
    functions.learn("f", Scores({"a": 0.9}))
    assert functions.settle("f", lambda _: True) is None  # an elite has runs left
    assert functions.settle("f", lambda _: False) == Scores({"a": 0.9})
    functions.learn("f", Scores({"a": 0.3}))
    known = functions.learn("f", Scores({"a": 0.6}))
    assert known.accuracies["a"] == pytest.approx(0.6)
    assert functions.settle("f", lambda _: True).accuracies["a"] == pytest.approx(0.6)


def test_what_was_rejected_stays_rejected_and_what_broke_is_unknown():
    functions = KnownFunctions(most_runs=1)
    functions.learn("bad", Rejected("quality", "a", {}))
    functions.learn("broken", Failed("crash", "it died"))
    assert functions.settle("bad", lambda _: True) == Rejected(Test.DUPLICATE, None, {"rejected_by": "quality"})
    assert functions.settle("broken", lambda _: True) is None


def test_a_later_rejection_counts_as_a_run_that_learnt_nothing():
    functions = KnownFunctions(most_runs=2)
    functions.learn("f", Scores({"a": 0.8}))
    assert functions.learn("f", Rejected("quality", "a", {})).accuracies == {"a": 0.4}


@pytest.mark.parametrize("changes", [{"attempts": 2}, {"runs_per_function": 1}])
def test_what_needs_fingerprints_needs_the_checks(changes):
    with pytest.raises(ValueError, match="need free_checks"):
        SearchRecipe(**changes)
