"""docs/formulas.md is the language: its tables are held against the register of primitives and the layers."""

import re

import numpy as np
import pytest

import evonorm
from evonorm.graph import INDEX_SETS, PRIMITIVES, Graph
from evonorm.graph.moments import AXES
from tests.pages import ROOT

TEXT = (ROOT / "docs" / "formulas.md").read_text()
ELEMENTWISE = re.findall(r"^\| `(.+?)` \| (\w+) \| `(.+)` \|$", TEXT, re.MULTILINE)
INDEX_ROWS = re.findall(r"^\| `(\w+)` \| ([\w ,]+) \| [^|]+ \| ([\w ,]+) \|$", TEXT, re.MULTILINE)
DIALECT = re.findall(r"^\| `[^|]+` \| (`.+`) \|$", TEXT[TEXT.index("## Coming from") :], re.MULTILINE)


def test_every_primitive_is_on_the_page_and_no_other():
    assert [name for _, name, _ in ELEMENTWISE] == [name for name, each in PRIMITIVES.items() if not each.aggregates]
    assert {letters for letters, _, _ in INDEX_ROWS} == set(INDEX_SETS)


@pytest.mark.parametrize(("formula", "name", "definition"), ELEMENTWISE, ids=lambda text: text)
def test_the_definition_is_the_function(formula, name, definition):
    rng = np.random.default_rng(0)
    edges = np.array([0.0, -0.0, 1e-7, -1e-7, 1e-6, -1e-6, 1.0, -1.0, 30.0, -30.0])
    a, b = (np.concatenate([edges, rng.normal(size=50)])[rng.permutation(60)] for _ in range(2))
    primitive = PRIMITIVES[name]
    expected = eval(definition, {"np": np, "a": a, "b": b})
    found = primitive.numpy(*(a, b)[: primitive.arity])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)
    written = Graph.parse(re.sub(r"\bb\b", "v1", re.sub(r"\ba\b", "x", formula)))
    assert written.nodes[-1].op == name


@pytest.mark.parametrize(("letters", "over", "evaluation"), INDEX_ROWS, ids=lambda text: text)
def test_the_index_sets_are_over_what_it_says(letters, over, evaluation):
    index_set = INDEX_SETS[letters]
    assert {axis for axis, words in AXES.items() if words in over.split(", ")} == index_set.axes
    assert ("moving" in evaluation) == index_set.needs_batch


@pytest.mark.parametrize("formulas", DIALECT)
def test_what_it_says_instead_can_be_read(formulas):
    for formula in re.findall(r"`(.+?)`", formulas):
        Graph.parse(re.sub(r"\b[ab]\b", "x", formula))


def test_the_starts_of_v0_and_v1():
    layer = evonorm.create_layer("x * v1 + v0", 3)
    for name, start in (("v0", 0), ("v1", 1)):
        assert f"| `{name}` | a learned number for each channel that starts at {start} |" in TEXT
        assert (getattr(layer, name) == start).all()


def test_the_grammar_is_that_of_the_parser():
    from evonorm.graph import formula

    grammar = re.search(r"```text\n(.*?)```", TEXT, re.DOTALL)[1]
    assert all(f"    {line}\n" in formula.__doc__ for line in grammar.splitlines())
