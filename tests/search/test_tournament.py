import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evonorm.graph import Graph
from evonorm.search import Population, SearchRecipe, pareto_front, tournament_winner

X = Graph.parse("x")


def population_of(*scores, window=100):
    population = Population(window)
    for index, row in enumerate(scores):
        population.add(index, X, dict(zip("abc", row, strict=False)))
    return population


def winners(population, settings, draws=300):
    return {tournament_winner(population, settings, np.random.default_rng(i)).index for i in range(draws)}


@given(arrays(float, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.sampled_from([0.1, 0.2, 0.3])))
def test_the_front_is_what_nothing_dominates(scores):
    def dominates(a, b):
        return all(x >= y for x, y in zip(a, b, strict=True)) and any(x > y for x, y in zip(a, b, strict=True))

    rows = scores.tolist()
    expected = [not any(dominates(other, row) for other in rows) for row in rows]
    assert pareto_front(scores).tolist() == expected


def test_pareto_and_average_choose_as_in_the_papers_figure():
    """Figure 'tournament selection criteria': B wins the average, each of A, B, C wins under Pareto, D never."""
    a, b, c, d = (0.2, 0.9), (0.7, 0.7), (0.9, 0.1), (0.6, 0.6)
    population = population_of(a, b, c, d)
    assert winners(population, SearchRecipe(tournament_share=1.0)) == {0, 1, 2}
    assert winners(population, SearchRecipe(tournament_share=1.0, criterion="average")) == {1}


def test_members_of_the_front_are_equally_likely():
    population = population_of((0.2, 0.9), (0.7, 0.7), (0.9, 0.1))
    settings = SearchRecipe(tournament_share=1.0)
    rng = np.random.default_rng(0)
    counts = np.bincount([tournament_winner(population, settings, rng).index for _ in range(3000)])
    assert (abs(counts - 1000) < 150).all()


def test_equals_share_the_win():
    population = population_of((0.5, 0.5), (0.5, 0.5), (0.1, 0.1))
    for criterion in ("pareto", "average"):
        assert winners(population, SearchRecipe(tournament_share=1.0, criterion=criterion)) == {0, 1}


@pytest.mark.parametrize(
    ("members", "share", "smallest", "size"), [(2500, 0.05, 1, 125), (100, 0.05, 8, 8), (3, 0.05, 8, 3)]
)
def test_the_tournament_has_the_asked_size(members, share, smallest, size):
    """The worst of all wins exactly when nobody else is in its tournament: seen through which ranks can win."""
    population = population_of(*((rank / members,) for rank in range(members)), window=members)
    settings = SearchRecipe(tournament_share=share, smallest_tournament=smallest)
    lowest = min(tournament_winner(population, settings, np.random.default_rng(i)).index for i in range(400))
    assert lowest >= size - 1  # the winner has beaten size - 1 others
    expected = members * size / (size + 1)
    found = np.mean([tournament_winner(population, settings, np.random.default_rng(i)).index for i in range(400)])
    assert abs(found - expected) < 0.05 * members + 1


def test_the_window_forgets_the_oldest():
    population = Population(3)
    for index in range(8):
        population.add(index, X, {"a": index / 10, "b": 1 - index / 10})
        kept = list(range(max(0, index - 2), index + 1))
        assert [member.index for member in population.members()] == kept
        scores = {
            population[place].index: population.scores(np.array([place]))[0].tolist() for place in range(len(kept))
        }
        assert scores == {i: [i / 10, 1 - i / 10] for i in kept}


def test_scores_on_other_anchors_do_not_mix():
    population = population_of((0.1, 0.2))
    for anchors in itertools.chain(({"a": 0.1},), ({"a": 0.1, "z": 0.2},)):
        with pytest.raises(ValueError, match="the population on"):
            population.add(9, X, anchors)


def test_nobody_has_no_frontier():
    assert pareto_front(np.empty((0, 3))).tolist() == []
