import pytest

from evonorm.fitness.bend import bend, reject_straight
from evonorm.fitness.depth_signal import reject_by_depth
from evonorm.graph import CATALOG, Graph
from evonorm.journal import Test

STRAIGHT = ("b0-no-v1x", "b0-no-local")  # the paper's own two


@pytest.mark.parametrize(
    "formula",
    [
        "x",
        "x / std_wh(x)",
        "(x - mean_bwh(x)) / std_bwh(x)",
        "x * sigmoid(mean_wh(x)) / rms_whc(x)",  # bends from map to map, not within one
        "max(x, x) * exp(v0) + tanh(v1)",
        "v1 / 0 + x",  # beside a huge constant x loses its last digits: rounding is no bend
    ],
)
def test_straight_lines_are_turned_down(formula):
    rejected = reject_straight(Graph.parse(formula))
    assert rejected.test == Test.BENDS
    assert rejected.figures["bend"] < 1e-6


def test_it_asks_last_for_the_bend_so_that_what_it_names_normalizes():
    assert reject_by_depth(Graph.parse("x / std_wh(x)")).test == Test.BENDS
    assert reject_by_depth(Graph.parse("x")).test == Test.DEPTH_SIGNAL


@pytest.mark.parametrize("formula", ["max(x, 0)", "abs(x)", "x * v0 + sqrt(sigmoid(x + v0))", "x / max(std_bwh(x), x)"])
def test_bends_pass(formula):
    assert reject_straight(Graph.parse(formula)) is None


def test_a_huge_output_has_a_bend_too():
    huge = "square(exp(square(exp(exp(exp(0))))))"  # 1e200: its square is not finite
    assert bend(Graph.parse(f"{huge} * x")) < 1e-6
    assert bend(Graph.parse(f"{huge} * max(x, 0)")) > 0.1


def test_the_share_of_a_parabola_is_known():
    """x squared has no straight part on values that lie evenly around zero; the probes do so only roughly."""
    assert bend(Graph.parse("square(x - mean_wh(x))")) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("name", [name for name, entry in CATALOG.items() if entry.formula])
def test_every_layer_with_a_name_bends_but_two(name):
    found = bend(Graph.parse(CATALOG[name].formula))
    assert (found < 1e-12) if name in STRAIGHT else (found > 0.15 or name == "random")
