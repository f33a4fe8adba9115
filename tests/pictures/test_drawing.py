"""A drawing must show every live node once, apart from the others, inside the picture, and say what the graph says."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evonorm.graph import CATALOG, Graph, sample_graph
from evonorm.graph.graph import INITIAL_NODES
from evonorm.pictures import graph_svg
from evonorm.pictures.drawing import GAP, _width
from evonorm.pictures.layout import lay_out

SVG = "{http://www.w3.org/2000/svg}"
B0 = "x / max(std_bwh(x), v1 * x + std_wh(x))"
FORMULAS = {entry.formula for entry in CATALOG.values() if entry.formula}


def nodes_of(svg):
    return [g for g in ET.fromstring(svg).iter(f"{SVG}g") if (g.get("class") or "").startswith("node")]


def numbers_of(svg):
    return [int(g.find(f"{SVG}title").text.split(":")[0]) for g in nodes_of(svg)]


@pytest.mark.parametrize("formula", sorted(FORMULAS))
def test_every_live_node_is_drawn_once(formula):
    graph = Graph.parse(formula)
    assert sorted(numbers_of(graph_svg(graph))) == list(graph.live)


def test_aggregations_are_told_apart_and_name_their_index_set():
    groups = nodes_of(graph_svg(Graph.parse(B0)))
    moments = [g for g in groups if "moment" in g.get("class")]
    assert [[t.text for t in g.iter(f"{SVG}text")] for g in moments] == [["std", "b,w,h"], ["std", "w,h"]]
    assert sum("element-wise" in g.get("class") for g in groups) == 4
    assert sum("initial" in g.get("class") for g in groups) == 2


def test_numerator_and_denominator_are_labelled_at_their_edges():
    svg = graph_svg(Graph.parse("v0 / x"))
    letters = {t.text: float(t.get("x")) for t in ET.fromstring(svg).iter(f"{SVG}text") if t.text in ("a", "b")}
    places = {g.find(f"{SVG}title").text: float(g.find(f"{SVG}text").get("x")) for g in nodes_of(svg)}
    assert (letters["a"] < letters["b"]) == (places["2: v0"] < places["0: x"])


def test_dead_nodes_are_absent_or_faint():
    graph = Graph.decode("exp:0 std_bwh:0 sigmoid:4 div:0,5")
    assert 4 not in numbers_of(graph_svg(graph))
    whole = nodes_of(graph_svg(graph, dead=True))
    faint = [g.find(f"{SVG}title").text for g in whole if g.get("opacity")]
    assert faint == ["4: exp(0) (dead)", "6: sigmoid(4) (dead)"]
    assert len(whole) == 5


def test_the_same_graph_gives_the_same_drawing():
    graph = sample_graph(np.random.default_rng(5))
    assert graph_svg(graph) == graph_svg(Graph.decode(graph.encode()))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([3, 10, 14]))
def test_nothing_overlaps_or_is_cut_off(seed, size):
    graph = sample_graph(np.random.default_rng(seed), nodes=size)
    numbers = set(range(4, graph.output + 1)) | {i for node in graph.nodes for i in node.inputs}
    widths = {number: _width(graph, number) for number in numbers}
    layout = lay_out(graph, numbers, widths, GAP)
    assert all(layout.rows[i] < layout.rows[n] for n in numbers if n >= 4 for i in graph.node(n).inputs)
    rows = {}
    for (number, row), x in layout.x.items():
        width = widths[number] if layout.rows[number] == row else 0
        rows.setdefault(row, []).append((x - width / 2, x + width / 2))
    for spans in rows.values():
        spans.sort()
        assert all(left[1] < right[0] for left, right in pairwise(spans))
    root = ET.fromstring(graph_svg(graph, dead=True))
    left, top, width, height = map(float, root.get("viewBox").split())
    for rect in root.iter(f"{SVG}rect"):
        assert left <= float(rect.get("x")) <= left + width - float(rect.get("width"))
        assert top <= float(rect.get("y")) <= top + height - float(rect.get("height"))
    for path in root.iter(f"{SVG}path"):
        ys = [float(y) for _, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path.get("d"))]
        assert all(top <= y <= top + height for y in ys)


def test_known_layers_are_drawn_with_few_crossings():
    from evonorm.pictures import layout as room

    for formula in FORMULAS:
        graph = Graph.parse(formula)
        placed = lay_out(graph, graph.live, {n: _width(graph, n) for n in graph.live}, GAP)
        rows = {}
        for spot, _ in sorted(placed.x.items(), key=lambda each: each[1]):
            rows.setdefault(spot[1], []).append(spot)
        links = room._links(graph, sorted(graph.live), placed.rows)
        crossings = room._crossings([rows[row] for row in sorted(rows)], links)
        assert crossings <= 2, f"{formula}: {crossings} crossings"  # B1 has 2, the others none


def test_a_graph_too_long_for_a_formula_can_still_be_drawn():
    text = "add:0,3 " + " ".join(f"mul:{n},{n}" for n in range(4, 40))
    graph = Graph.decode(text)
    with pytest.raises(ValueError, match="longer than"):
        str(graph)
    assert len(numbers_of(graph_svg(graph))) == len(graph.live)
    assert "<svg" in graph._repr_html_()


def test_notebooks_show_formula_and_drawing():
    page = Graph.parse(B0)._repr_html_()
    root = ET.fromstring(page)
    assert root.find("{http://www.w3.org/1998/Math/MathML}math") is not None
    assert root.find(f"{SVG}svg") is not None
    assert len(INITIAL_NODES) == 4
