import math
import re
import xml.etree.ElementTree as ET

import pytest

from evonorm.graph import Graph
from evonorm.pictures.chart_frame import Axes
from evonorm.pictures.charts import Bar, Cell, DotRow, Line, Mark, dot_rows, funnel, histogram, line_chart, scatter
from evonorm.pictures.palette import DASHES, SERIES
from evonorm.pictures.scales import Scale, nice_step, padded, tick_text
from evonorm.report.agreement import Pair, agreement_figure
from evonorm.report.figures import _shown_outputs, response_figure
from evonorm.report.response import STATISTICS, responses
from evonorm.report.templates import style_sheet

NASTY = "<script>alert('x')</script>&"
AXES = Axes("training steps (millions)", "accuracy (%)")


def words(svg):
    return ["".join(each.itertext()) for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def charts():
    yield line_chart(NASTY, [Line(NASTY, [0, 1, 2], [1, math.nan, 3], [0, 1, 2], [2, 3, 4])], AXES)
    yield line_chart("empty", [], AXES)
    yield line_chart("one point", [Line("a", [5], [7])], Axes("x", "y", levels={NASTY: 3.0}))
    yield histogram(NASTY, [0, 50, 100], [3, 0], Axes("a", "b", y_log=True), {NASTY: 50})
    yield histogram("empty", [0, 50, 100], [0, 0], Axes("a", "b", y_log=True), {})
    limits = ((0.0, 100.0), (0.0, 100.0))
    yield scatter(NASTY, [Cell(3, 4, 5)], [Mark(1, 2, NASTY, NASTY)], [Mark(9, 9, NASTY)], Axes("a", "b", *limits))
    yield scatter("empty", [], [], [], Axes("a", "b", *limits))
    yield funnel(NASTY, [Bar(NASTY, 0, 3, 0), Bar("none", 0, 0, 1)], 3)
    yield funnel("empty", [Bar("proposed", 0, 0, 0)], 0)
    yield dot_rows(NASTY, [NASTY, "b"], [DotRow(NASTY, [1.0, math.nan], NASTY)], AXES)
    yield dot_rows("empty", [], [], AXES)


@pytest.mark.parametrize("svg", list(charts()))
def test_every_chart_is_well_formed_and_escaped(svg):
    ET.fromstring(svg)
    assert "<script" not in svg
    assert "nan" not in svg.lower()


def test_axes_are_labelled_with_units():
    svg = line_chart("progress", [Line("first", [0, 1], [10, 20]), Line("second", [0, 1], [20, 30])], AXES)
    assert {"training steps (millions)", "accuracy (%)", "first", "second"} <= set(words(svg))


def test_a_gap_in_the_data_is_a_gap_in_the_line():
    svg = line_chart("gap", [Line("a", [0, 1, 2, 3], [1, 2, math.nan, 4])], AXES)
    (path,) = [each.get("d") for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}path")]
    assert path.count("M") == 2
    assert path.count("L") == 1


def test_series_differ_by_more_than_colour_and_the_page_knows_them_all():
    assert len(set(DASHES)) == len(DASHES) == len(set(SERIES))
    light, dark = (re.findall(r"--s\d: (#\w+)", part) for part in style_sheet().split("prefers-color-scheme: dark")[:2])
    assert tuple(light) == SERIES
    assert len(set(dark[: len(SERIES)])) == len(SERIES)


def test_ticks():
    assert nice_step(0.021) == pytest.approx(0.05)
    assert nice_step(2.0) == 2.0
    assert Scale(0, 97, 0, 1).ticks() == [0, 20, 40, 60, 80]
    assert Scale(0.7, 1000, 0, 1, log=True).ticks() == [1, 10, 100, 1000]
    assert Scale(1, 100, 0, 10, log=True)(10) == 5
    assert [tick_text(value) for value in (0, 0.30000000000000004, 2500, 20000, 3e6)] == [
        "0",
        "0.3",
        "2500",
        "20k",
        "3M",
    ]
    assert padded([5.0], 2.0) == (4.0, 6.0)
    assert padded([0.0, math.inf, 10.0], 1.0, 0.0) == (0.0, 10.6)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("x / max(std_bwh(x), v1 * x + std_wh(x))", lambda x, mean, std: x / max(std, x + std)),
        ("x * sigmoid(v1 * x) / std_whcg(x)", lambda x, mean, std: x / (1 + math.exp(-x)) / std),
        ("max((x - mean_bwh(x)) / std_bwh(x), 0)", lambda x, mean, std: max((x - mean) / std, 0)),
        ("x / rms_wh(x) + v0", lambda x, mean, std: x / math.sqrt(mean**2 + std**2)),
        ("mean_whc(x)", lambda x, mean, std: mean),
        ("std_wh(x / std_wh(x))", lambda x, mean, std: 1.0),
    ],
)
def test_the_response_is_the_formula_with_fixed_statistics(formula, expected):
    curves = responses(Graph.parse(formula))
    assert [(curve.mean, curve.std) for curve in curves] == list(STATISTICS)
    for curve in curves:
        for x, y in zip(curve.x[::20], curve.y[::20], strict=True):
            assert y == pytest.approx(expected(x, curve.mean, curve.std), abs=2e-3, rel=2e-3)


def test_a_response_that_explodes_still_has_a_chart():
    ET.fromstring(response_figure(Graph.parse("exp(exp(exp(exp(x))))")).svg)
    ET.fromstring(response_figure(Graph.parse("x / (x - x)")).svg)


@pytest.mark.parametrize(
    "formula", ["1 / (x - x)", "-1 / (x - x)", "exp(exp(1 + 1 + 1 + 1)) + 0 * x", "x / square(x - x)"]
)
def test_a_response_far_from_zero_still_has_a_chart_with_a_curve_in_it(formula):
    svg = response_figure(Graph.parse(formula)).svg
    paths = [each.get("d") for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}path")]
    heights = [float(word.split()[1]) for path in paths for word in re.split("[ML]", path) if word.strip()]
    assert any(0 < height < 270 for height in heights)


def test_the_whole_response_is_shown_unless_it_explodes():
    outputs = [row[3] for row in response_figure(Graph.parse("x / max(std_bwh(x), v1 * x + std_wh(x))")).rows]
    low, high = _shown_outputs(outputs)
    assert low < min(outputs)
    assert high > max(outputs)
    low, high = _shown_outputs([*outputs, 1e6])
    assert high < 50


@pytest.mark.parametrize(("values", "anchor"), [([1, 2, 9, 10], None), ([10, 9, 2, 1], "end")])
def test_the_name_of_a_level_keeps_away_from_the_curve(values, anchor):
    svg = line_chart("level", [Line("a", [0, 1, 2, 3], values)], Axes("x", "y", levels={"bn-relu": 10.0}))
    (name,) = [t for t in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text") if t.text == "bn-relu"]
    assert name.get("text-anchor") == anchor


def test_counts_have_no_ticks_between_whole_numbers():
    svg = line_chart("few", [Line("a", [1, 2], [1, 2])], Axes("scored candidates", "accuracy (%)", x_whole=True))
    assert words(svg)[:2] == ["1", "2"]
    assert Scale(0, 2.1, 0, 100).ticks(least=1.0) == [0, 1, 2]


def test_places_may_have_names_in_place_of_numbers():
    svg = line_chart("named", [Line("a", [0, 1], [1, 2])], Axes("batch size", "%", (-0.1, 1.1), x_names=("128", "32")))
    assert words(svg)[:2] == ["128", "32"]


def test_names_of_references_cover_neither_each_other_nor_a_diamond():
    marks = [Mark(69.8, 69.4, "bn-relu"), Mark(76.9, 68.0, "evonorm-b0"), Mark(70.5, 70.0, "evonorm-s0")]
    svg = ET.fromstring(scatter("near", [Cell(60, 60, 1)], [], marks, Axes("a", "b", (0.0, 80.0), (0.0, 80.0))))
    group = next(g for g in svg.iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "ink-fill")
    names = [(float(t.get("x")), float(t.get("y")), 6 * len(t.text)) for t in group if t.tag.endswith("text")]
    assert len(names) == 3
    for k, (x, y, width) in enumerate(names):
        assert x >= 54
        assert x + width <= 400
        for other_x, other_y, other_width in names[:k]:
            assert abs(y - other_y) >= 11 or x > other_x + other_width or other_x > x + width


def test_an_agreement_shows_every_layer_and_labels_those_with_a_name():
    pairs = [Pair("bn-relu", 30.0, 50.0, True), Pair("tanh(x)", 20.0, 40.0, False), Pair("exp(x)", 10.0, 10.0, False)]
    figure = agreement_figure("rung 1", "rung 1, 20 steps", pairs, "20 steps", "400 steps")
    text = "".join(ET.fromstring(str(figure.svg)).itertext())
    assert "bn-relu" in text
    assert "accuracy (%), 400 steps" in text
    assert "nothing" not in text
    assert str(figure.svg).count("h0") == 2
    assert figure.csv().splitlines()[1:] == [
        "bn-relu,30.0,50.0,True",
        "tanh(x),20.0,40.0,False",
        "exp(x),10.0,10.0,False",
    ]
    named = agreement_figure("rung 1", "rung 1", pairs[:1], "20 steps", "400 steps")
    assert "nothing" not in str(named.svg)
    assert "nothing" in str(agreement_figure("rung 1", "rung 1", [], "20 steps", "400 steps").svg)
