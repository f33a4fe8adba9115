import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evonorm.graph import CATALOG, Graph, sample_graph
from evonorm.pictures import formula_mathml
from evonorm.pictures.markup import Markup, element

M = "{http://www.w3.org/1998/Math/MathML}"


def tree(formula, **how):
    return ET.fromstring(formula_mathml(Graph.parse(formula), **how))


def text(formula, **how):
    return "".join(tree(formula, **how).itertext()).replace("\u2062", "").replace("\u2061", "")


def test_evonorm_b0_reads_as_in_the_paper():
    root = tree(CATALOG["evonorm-b0"].formula, affine=True)
    top, bottom = root.find(f"{M}mfrac")
    assert "".join(top.itertext()) == "x"
    assert "".join(bottom.itertext()).replace("\u2062", "").replace("\u2061", "") == "max(sb,w,h2(x),v1x+sw,h2(x))"
    assert len(list(bottom.iter(f"{M}msqrt"))) == 2
    assert text(CATALOG["evonorm-b0"].formula, affine=True).endswith("·γ+β")


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("x - (v0 + v1)", "x−(v0+v1)"),
        ("x + v0 - v1", "x+v0−v1"),
        ("(x + 1) * v1", "(x+1)v1"),
        ("x * -v1", "x(−v1)"),
        ("-(x + v0)", "−(x+v0)"),
        ("square(x)", "x2"),
        ("square(x + v0)", "(x+v0)2"),
        ("exp(x)", "ex"),
        ("exp(0) + x", "1+x"),
        ("abs(x)", "|x|"),
        ("mean_whcg(x)", "μw,h,c/g(x)"),
        ("rms_wh(x)", "μw,h(x2)"),
        ("log(x) + sqrt(x)", "slog(x)+ssqrt(x)"),
    ],
)
def test_brackets_and_signs(formula, expected):
    assert text(formula) == expected


def test_the_affine_brackets_a_sum():
    assert text("x + v0", affine=True) == "(x+v0)·γ+β"


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**9))
def test_any_graph_is_well_formed(seed):
    ET.fromstring(formula_mathml(sample_graph(np.random.default_rng(seed)), affine=True))


def test_a_formula_that_explodes_is_refused():
    graph = Graph.decode("add:0,3 " + " ".join(f"mul:{n},{n}" for n in range(4, 40)))
    with pytest.raises(ValueError, match="too long to typeset"):
        formula_mathml(graph)


def test_markup_escapes_what_is_not_markup():
    made = element("b", {"title": '"<&'}, "<i>", Markup("<u>ok</u>"))
    assert made == '<b title="&quot;&lt;&amp;">&lt;i&gt;<u>ok</u></b>'
    assert element("br", {"x": None, "y": 1.5}) == '<br y="1.5"/>'
