"""Intervals of means, against scipy and by counting how often they hold the truth."""

import random

import pytest
from scipy import stats

from evonorm.foundation import Estimate, estimate, student_t


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 10, 29, 100, 1001])
def test_students_t_is_scipys(freedom, confidence):
    assert student_t(freedom, confidence) == pytest.approx(stats.t.ppf((1 + confidence) / 2, freedom), rel=1e-9)


def test_an_estimate_is_what_a_t_test_says():
    values = [70.1, 69.2, 71.3, 70.9]
    found, interval = estimate(values), stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.n, found.mean) == (4, pytest.approx(70.375))
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_one_value_has_no_interval_and_none_no_mean():
    assert estimate([3.0]) == Estimate(3.0, 1, None)
    assert estimate([3.0]).low is estimate([3.0]).high is None
    assert not estimate([3.0]).excludes_zero
    with pytest.raises(ValueError, match="at least one value"):
        estimate([])


@pytest.mark.parametrize(
    ("values", "beyond"),
    [([1.0, 1.2, 0.9], True), ([-1.0, -1.2, -0.9], True), ([1.0, -0.5, 0.6], False), ([0.0, 0.0], False)],
)
def test_an_interval_around_zero_says_nothing(values, beyond):
    assert estimate(values).excludes_zero is beyond


def test_the_interval_holds_the_truth_as_often_as_it_says():
    draw = random.Random(0)
    held = [abs((found := estimate([draw.gauss(0, 2) for _ in range(3)])).mean) <= found.half for _ in range(4000)]
    assert sum(held) / 4000 == pytest.approx(0.95, abs=0.012)  # 3.5 standard errors


@pytest.mark.parametrize(("freedom", "confidence"), [(0, 0.95), (3, 1.0), (3, 0.0)])
def test_impossible_questions_are_errors(freedom, confidence):
    with pytest.raises(ValueError, match=r"degree of freedom|between 0 and 1"):
        student_t(freedom, confidence)
