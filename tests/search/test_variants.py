"""What goes beyond the paper: no clones, families, paired seeds, islands, stepping stones for ever, local mutations."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from evonorm.fitness import create_screen
from evonorm.graph import Graph
from evonorm.journal import Origin, Rejected, Scores, Test
from evonorm.kernels import likeness, signature
from evonorm.search import Population, Search, SearchRecipe, tournament_winner
from evonorm.search.variants.clones import Clones
from tests.search.test_proposals import CHEAP, bends, noisy
from tests.search.test_search import run

X = Graph.parse("x")

ALL = replace(
    CHEAP,
    nodes=6,
    most_alike=0.98,
    family_likeness=0.9,
    paired_seeds=True,
    stone_share=0.25,
    local_share=0.5,
    islands=3,
    smallest_tournament=2,
)


def make(settings, seed=3):
    return Search(settings, seed, create_screen(settings), ("bn-relu",))


@pytest.fixture(scope="module")
def rows():
    return run(make(ALL), 2000, workers=4, outcomes=noisy)


def trained(rows):
    return [row.proposal for row in rows if row.proposal.settled is None and row.proposal.origin != Origin.REFERENCE]


def test_nothing_that_is_trained_is_nearly_another_that_was_scored(rows):
    scored = {row.proposal.index for row in rows if isinstance(row.outcome, Scores)}
    every = [(each.function, signature(each.graph)) for each in trained(rows) if each.index in scored]
    assert len(every) > 20
    for i, (function, mine) in enumerate(every):
        assert all(likeness(mine, other) <= 0.9801 for name, other in every[:i] if name != function)


def test_a_clone_names_whom_it_is_like(rows):
    clones = [row.proposal for row in rows if row.proposal.rejected and row.proposal.rejected.test == Test.CLONE]
    assert len(clones) > 20
    for clone in clones:
        other = rows[clone.rejected.figures["like"]].proposal
        assert other.settled is None
        assert other.function != clone.function
        found = likeness(signature(other.graph), signature(clone.graph))
        assert found == pytest.approx(clone.rejected.figures["likeness"], abs=1e-4)
        assert found > 0.98


def test_without_the_rule_clones_are_trained():
    lenient = trained(run(make(replace(ALL, most_alike=0.0)), 1000, workers=4, outcomes=noisy))
    every = [signature(each.graph) for each in lenient]
    assert sum(likeness(one, two) > 0.98 for i, one in enumerate(every) for two in every[:i]) > 10


def test_the_same_run_of_every_function_has_the_same_seed(rows):
    seeds = defaultdict(list)
    for each in trained(rows):
        seeds[each.function].append(each.seed)
    firsts = {each[0] for each in seeds.values()}
    assert len(firsts) == 1
    assert firsts == {rows[0].proposal.seed}  # the reference's first run too
    again = [each for each in seeds.values() if len(each) > 1]
    assert all(len(set(each)) == len(each) for each in again)


def test_parents_and_children_live_on_one_island(rows):
    children = [row.proposal for row in rows if row.proposal.parents]
    assert len(children) > 200
    assert all(child.index % 3 == child.parents[0] % 3 for child in children)
    assert {child.index % 3 for child in children} == {0, 1, 2}


def test_founders_come_for_ever():
    settings = replace(CHEAP, stone_share=0.25, fresh_share=0.2)
    rows = run(Search(settings, 3, bends), 800, outcomes=noisy)
    stones = {row.proposal.index for row in rows if row.proposal.rejected == Rejected(Test.BENDS, None)}
    scored = [row.proposal.index for row in rows if isinstance(row.outcome, Scores)]
    late = [row.proposal for row in rows if row.proposal.parents and row.proposal.index > scored[20]]
    assert 0.15 < sum(each.parents[0] in stones for each in late) / len(late) < 0.35


def test_half_of_the_children_are_local(rows):
    origins = Counter(row.proposal.origin for row in rows if row.proposal.parents)
    assert 0.35 < origins[Origin.LOCAL_MUTATION] / origins.total() < 0.65


@pytest.mark.parametrize("workers", [1, 3])
def test_the_same_search_whatever_the_number_of_workers(rows, workers):
    assert run(make(ALL), 800, workers=workers, seed=workers, outcomes=noisy) == rows[:800]


@pytest.mark.parametrize("cut", [333, 1200])
def test_a_resumed_search_goes_on_as_if_nothing_had_been(rows, cut):
    resumed = make(ALL)
    in_flight = resumed.restore(rows[:cut])
    assert in_flight == []
    assert run(resumed, 2000, workers=1, outcomes=noisy) == rows[cut:]


def test_clones_are_forgotten_with_what_they_are_like():
    rng = np.random.default_rng(0)
    signatures = [each / np.linalg.norm(each) for each in rng.standard_normal((200, 30))]
    clones = Clones(0.9)
    for index, each in enumerate(signatures):
        clones.add(index, each)
    for index in range(0, 200, 2):
        clones.drop(index)
    clones.drop(5000)  # never added
    for index, each in enumerate(signatures):
        found = clones.turn_down(-each)  # the sign is free
        assert found == (Rejected(Test.CLONE, None, {"like": index, "likeness": 1.0}) if index % 2 else None)


def test_a_family_is_worth_its_mean_in_a_tournament():
    """The luckiest single score, 0.9, belongs to the worst family of three."""
    one, two, alone = np.eye(3)
    scores = [(one, 0.9), (two, 0.6), (one, 0.1), (-two, 0.7), (alone, 0.55), (None, 0.5)]
    every = np.arange(len(scores))

    def filled(window, likeness):
        population = Population(window, family_likeness=likeness)
        for index, (direction, score) in enumerate(scores):
            population.add(index, X, {"a": score}, str(index), direction)
        return population

    alike, single = filled(10, 0.95), filled(10, 0.0)
    assert alike.scores(every)[:, 0] == pytest.approx([0.5, 0.65, 0.5, 0.65, 0.55, 0.5])
    settings = SearchRecipe(smallest_tournament=99)
    winners = {tournament_winner(alike, settings, np.random.default_rng(seed)).index for seed in range(20)}
    assert winners == {1, 3}
    assert tournament_winner(single, settings, np.random.default_rng(0)).index == 0
    forgetful = filled(3, 0.95)  # 3, 4, 5 are left, in the places of 0, 1, 2
    assert forgetful.scores(np.arange(3))[:, 0] == pytest.approx([0.7, 0.55, 0.5])


def test_off_means_off():
    assert Clones(0.0).turn_down(np.ones(4)) is None
    with pytest.raises(ValueError, match="most_alike need free_checks"):
        SearchRecipe(most_alike=0.98)
    with pytest.raises(ValueError, match="islands must be at least 1"):
        SearchRecipe(islands=0)
    with pytest.raises(ValueError, match="local_share must lie in 0 to 1"):
        SearchRecipe(local_share=1.5)
