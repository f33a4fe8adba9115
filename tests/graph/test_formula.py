import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evonorm.graph import CATALOG, FormulaError, Graph, sample_graph
from evonorm.graph.formula import known_names


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("x", "add:0,1"),
        ("1", "exp:1"),
        ("x + 1", "exp:1 add:0,4"),
        ("x - v0", "neg:2 add:0,4"),
        ("-x * v1", "neg:0 mul:4,3"),
        ("-(x * v1)", "mul:0,3 neg:4"),
        ("x - x - x", "neg:0 add:0,4 add:5,4"),
        ("x / x / x", "div:0,0 div:4,0"),
        ("x + v0 * v1", "mul:2,3 add:0,4"),
        ("(x + v0) * v1", "add:0,2 mul:4,3"),
        ("max(x, max(x, 0))", "max:0,1 max:0,4"),
        ("std_whcg(x) * std_whcg(x)", "std_whcg:0 mul:4,4"),
        ("  sigmoid (\n v1*x )", "mul:3,0 sigmoid:4"),
    ],
)
def test_parses_to(text, encoded):
    assert Graph.parse(text).encode() == encoded


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "0",
        "v1",
        "x - -x",
        "--x",
        "-(x + v0)",
        "x - (v0 - v1)",
        "x / (v0 / v1)",
        "x * (v0 * v1)",
        "x * -v0",
        "x + (v0 + v1)",
        "1 / (1 + exp(-x))",
        "square(x + 1)",
    ],
)
def test_prints_back_the_same_text(text):
    assert str(Graph.parse(text)) == text


def test_latex_uses_the_papers_letters():
    formula = CATALOG["evonorm-b0"].formula
    assert Graph.parse(formula).latex() == (
        r"\frac{x}{\max\left(\sqrt{s^2_{b,w,h}\left(x\right)}, v_1 x + \sqrt{s^2_{w,h}\left(x\right)}\right)}"
    )
    assert Graph.parse("x * -v0").latex() == r"x \left(-v_0\right)"
    assert Graph.parse("rms_whcg(x) - square(x + v1)").latex() == (
        r"\sqrt{\mu_{w,h,c/g}\left(x^2\right)} - \left(x + v_1\right)^2"
    )


@pytest.mark.parametrize(
    ("text", "problem", "position"),
    [
        ("", "got 'the end'", 0),
        ("x +", "got 'the end'", 3),
        ("x x", "expected an operator", 2),
        ("(x", r"expected '\)', got 'the end'", 2),
        ("x / siglmoid(x)", "unknown name 'siglmoid'. Did you mean 'sigmoid'", 4),
        ("std_bhw(x)", "Did you mean 'std_bwh'", 0),
        ("max(x)", "max takes 2", 0),
        ("tanh(x, x)", "tanh takes 1", 0),
        ("2 * x", "the only numbers are 0 and 1", 0),
        ("x ** x", r"no operator '\*\*'", 3),
        ("x # 1", "unexpected character '#'", 2),
        ("std_bwh x", r"expected '\('", 8),
        ("(" * 1000, "nested deeper", 122),
        ("x" + " + x * x" * 80, "1 to 60 intermediate nodes", 0),
    ],
)
def test_errors_point_at_the_place(text, problem, position):
    with pytest.raises(FormulaError, match=problem) as caught:
        Graph.parse(text)
    assert caught.value.position == position
    assert str(caught.value).endswith("^")


def test_a_formula_that_is_not_text_is_a_type_error():
    with pytest.raises(TypeError, match="got int"):
        Graph.parse(3)


def test_random_graphs_print_and_parse_back_to_the_same_live_graph():
    rng = np.random.default_rng(0)
    for _ in range(10_000):
        graph = sample_graph(rng)
        again = Graph.parse(str(graph))
        assert str(again) == str(graph)
        assert again == Graph.parse(str(again))


WORDS = st.sampled_from([*known_names(), "(", ")", ",", "+", "-", "*", "/", " ", "y", "2", "é", "\n", "\0", "."])


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=40).map("".join)))
def test_any_text_gives_a_graph_or_a_formula_error(text):
    try:
        graph = Graph.parse(text)
    except FormulaError:
        return
    assert str(Graph.parse(str(graph))) == str(graph)
