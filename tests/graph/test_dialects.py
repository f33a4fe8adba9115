import re

import pytest

import evonorm
from evonorm.graph import CATALOG, Graph, graph_of
from evonorm.graph.dialects import _OURS


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("relu(x) / std_bwh(x)", "Write max(x, 0)."),
        ("silu(x)", "Write x * sigmoid(x)."),
        ("Swish(x)", "Write x * sigmoid(v1 * x)"),
        ("x ** 2", "Write square(x)"),
        ("x^2", "Write square(x)"),
        ("x * * x", "there is no operator '**'"),
        ("2 * x", "Write 1 + 1"),
        ("x / var_wh(x)", "Write square(std_wh(x))."),
        ("(x - mean(x)) / std(x)", "Say over what: mean_ and one of bwh (batch norm's)"),
        ("x * v", "Write v1, which starts at 1"),
        ("signed_sqrt(x)", "it is the signed one"),
        ("x / sqrt(x + eps)", "guarded by themselves"),
    ],
)
def test_what_others_write_is_told_in_our_words(text, cure):
    with pytest.raises(evonorm.FormulaError, match=re.escape(cure)):
        graph_of(text)


@pytest.mark.parametrize("word", [word for word, ours in _OURS.items() if not ours.startswith(("nothing", "1 + 1"))])
def test_every_cure_is_a_formula(word):
    formula = re.split(r", (?=or|which)| \(|: ", _OURS[word])[0]
    graph = Graph.parse(re.sub(r"\b[ab]\b", "x", formula))
    assert graph.live_nodes or graph.reads("x") or graph.reads("v1")


@pytest.mark.parametrize("name", CATALOG)
def test_a_layer_may_be_written_in_any_case(name):
    assert graph_of(name.upper()) == graph_of(name)
    written, meant = evonorm.create_layer(name.title(), 8), evonorm.create_layer(name, 8)
    assert type(written) is type(meant)
    assert repr(written) == repr(meant)
