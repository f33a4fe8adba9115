import pytest

from evonorm.fitness import screen
from evonorm.graph import CATALOG, Graph
from evonorm.journal import FREE_CHECKS, Test, outcome_from_json, outcome_to_json


def rejection(text, batch_ops=True):
    return screen(Graph.parse(text), batch_ops).rejected


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("v1 * exp(0)", Test.READS_X),
        ("sqrt(std_wh(sigmoid(abs(x))))", Test.VARIES_OVER_SPACE),  # the paper's row "Random"
        ("mean_bwh(x)", Test.VARIES_OVER_SPACE),
        ("x - x", Test.VARIES_OVER_SPACE),
        ("mean_wh(x) + v1", Test.VARIES_OVER_SPACE),
        ("x * exp(exp(exp(x)))", Test.FINITE),
        ("x * exp(x)", Test.FINITE_ON_HARD_INPUTS),
        ("x / exp(-x)", Test.FINITE_ON_HARD_INPUTS),
        ("square(square(square(square(x))))", Test.FINITE_ON_HARD_INPUTS),
    ],
)
def test_each_check_has_its_name(text, check):
    rejected = rejection(text)
    assert rejected.test == check
    assert rejected.test in FREE_CHECKS
    assert outcome_from_json(outcome_to_json(rejected)) == rejected


def test_a_gradient_must_come_back():
    staircase = "tanh(exp(exp(1 + 1)) * x / abs(x))"  # the sign of x, next to flat
    assert rejection(staircase).test == Test.GRADIENT


def test_the_hard_input_is_named():
    assert rejection("x * exp(x)").figures == {"input": "scale 1e4", "what": "output"}


def test_the_s_series_has_no_batch_moments():
    assert rejection("x / std_bwh(x)", batch_ops=False).test == Test.NO_BATCH_MOMENT
    assert rejection("x / std_bwh(x)") is None
    assert rejection("x / std_whcg(x)", batch_ops=False) is None


@pytest.mark.parametrize("name", [name for name, entry in CATALOG.items() if entry.formula and name != "random"])
def test_no_layer_of_the_paper_that_trains_is_turned_down(name):
    assert rejection(CATALOG[name].formula) is None
    if not Graph.parse(CATALOG[name].formula).batch_moments:
        assert rejection(CATALOG[name].formula, batch_ops=False) is None


def test_survivors_carry_their_fingerprint():
    screened = screen(Graph.parse("x * sigmoid(x)"))
    assert screened.rejected is None
    assert screened.fingerprint == screen(Graph.parse("sigmoid(x) * x")).fingerprint
