"""Equal functions do not crowd each other's place in the population."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from evonorm.graph import Graph
from evonorm.search import Population, SearchRecipe
from tests.search.test_proposals import CHEAP, make, noisy
from tests.search.test_search import run

X = Graph.parse("x")


def filled(words, window=4, limit=1):
    """A population after members of these functions, numbered from 0."""
    population = Population(window, limit)
    for index, function in enumerate(words):
        population.add(index, X, {"a": index / 100}, function)
    return population


def members(population):
    return [(member.function, member.index) for member in population.members()]


def test_another_genotype_takes_the_oldest_place_of_its_function():
    assert members(filled("abab")) == [("a", 2), ("b", 3)]
    assert members(filled("abaca", limit=2)) == [("a", 4), ("b", 1), ("a", 2), ("c", 3)]


def test_duplicates_drive_nobody_out():
    population = filled(["a", "b", "c", *"d" * 50])
    assert [function for function, _ in members(population)] == ["a", "b", "c", "d"]
    assert population[3].index == 52
    assert population.scores(np.array([3])).tolist() == [[0.52]]
    crowded = filled(["a", "b", "c", *"d" * 50], limit=0)
    assert {function for function, _ in members(crowded)} == {"d"}


def test_the_window_still_forgets_the_oldest_function():
    assert [function for function, _ in members(filled("abcdaae"))] == ["b", "c", "d", "e"]


def test_members_without_a_fingerprint_are_never_the_same():
    assert len(filled([None, None, None])) == 3


@pytest.mark.parametrize("limit", [1, 2])
def test_in_a_search_no_function_has_more_members_than_allowed(limit):
    few = replace(CHEAP, nodes=3, window=60, genotypes_per_function=limit)
    search = make(few)
    rows = run(search, 1200, outcomes=noisy)
    counts = Counter(member.function for member in search.islands.of(0).members())
    assert max(counts.values()) == limit
    crowded = make(replace(few, genotypes_per_function=0))
    run(crowded, 1200, outcomes=noisy)
    assert len(counts) > len({member.function for member in crowded.islands.of(0).members()})

    restored = make(few)
    assert restored.restore(rows) == []
    restored.ready()
    assert restored.islands.of(0).members() == search.islands.of(0).members()


def test_strict_order_holds_with_it():
    settings = replace(CHEAP, genotypes_per_function=1)
    alone = run(make(settings), 400, outcomes=noisy)
    assert run(make(settings), 400, workers=4, seed=1, outcomes=noisy) == alone


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"genotypes_per_function": 1}, "genotypes_per_function need free_checks"),
        ({"genotypes_per_function": -1}, "must not be negative"),
    ],
)
def test_impossible_limits_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SearchRecipe(**changes)
