import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonorm.runner.rank_correlation import correlate, kendall, ranks, spearman

stats = pytest.importorskip("scipy.stats")

NUMBERS = st.sampled_from([-3.0, -1.0, 0.0, 0.5, 0.5001, 2.0])
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=12)


@given(PAIRS)
def test_both_agree_with_scipy_ties_and_all(pairs):
    a, b = (list(each) for each in zip(*pairs, strict=True))
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert math.isnan(spearman(a, b))
        assert math.isnan(kendall(a, b))
        return
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)
    assert kendall(a, b) == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-12)


def test_runs_that_blew_up_share_the_last_rank():
    assert ranks([-math.inf, 0.3, -math.inf, 0.1]).tolist() == [1.5, 4.0, 1.5, 3.0]


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    """Pairs with a known Spearman correlation (normal, r = 0.8: 6/pi asin(r/2) = 0.786) in 100 small experiments."""
    truth, held = 6 / math.pi * math.asin(0.4), 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        a, b = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=30).T
        found = correlate(a, b, rng, resamples=100)
        assert found.low <= found.value <= found.high
        held += found.low <= truth <= found.high
    assert 0.85 < held / 100 < 1


def test_the_same_generator_gives_the_same_interval():
    a, b = [1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 5.0]
    assert correlate(a, b, np.random.default_rng(1)) == correlate(a, b, np.random.default_rng(1))


@pytest.mark.parametrize(("a", "b"), [([], []), ([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0])])
def test_too_little_says_nothing(a, b):
    assert str(correlate(a, b, np.random.default_rng(0))) == "-"


def test_an_interval_of_three_is_not_shown():
    """All resamples of three points on a line are on that line: it would look certain."""
    line = [1.0, 2.0, 3.0]
    assert str(correlate(line, line, np.random.default_rng(0))) == "1.00 (n = 3)"
    assert "[" in str(correlate([*line, 4.0, 5.0, 6.0], [*line, 4.0, 6.0, 5.0], np.random.default_rng(0)))
