"""What docs/guide/plugin.md says is what happens: its program is run as it stands there."""

import tomllib
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import torch

import evonorm
from evonorm.export import layer_source
from evonorm.fitness import screen
from evonorm.graph import PRIMITIVES
from evonorm.kernels import fingerprint
from evonorm.models import model_cost
from evonorm.pictures import formula_mathml, graph_svg
from tests import test_every_primitive as every
from tests.pages import ROOT, blocks
from tests.registrations import REGISTERS, taken_back

PAGE = ROOT / "docs" / "guide" / "plugin.md"
FORMULAS = {
    "unary": "softsign(x + v1) / rms_wh(x)",
    "binary": "x / hypotenuse(x, v0)",
    "moment": "max(x, 0) / std_bwhc(x)",
    "layer": "soft-norm",
}


@pytest.fixture(scope="module", autouse=True)
def program():
    (block,) = blocks(PAGE, "python")
    with taken_back():
        exec(block.code, {})
        yield


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
class TestEveryWay:
    def test_parse_draw_and_typeset(self, formula):
        graph = evonorm.graph_of(formula)
        assert evonorm.Graph.parse(str(graph)) == graph
        assert "x" in graph.latex()
        ET.fromstring(formula_mathml(graph))
        ET.fromstring(graph_svg(graph))

    def test_train_on_a_cpu(self, formula):
        model = evonorm.create_model("resnet-nano", formula, num_classes=3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        before = [each.clone() for each in model.parameters()]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(torch.randn(4, 3, 16, 16)), torch.tensor([0, 1, 2, 0]))
                loss.backward()
                optimizer.step()
        assert loss.isfinite()
        assert any((one != other).any() for one, other in zip(before, model.parameters(), strict=True))
        assert len(caught) <= 1, "plain torch is told of once per primitive"

    def test_fingerprint_and_simplify(self, formula):
        graph = evonorm.graph_of(formula)
        assert fingerprint(evonorm.simplify(graph)) == fingerprint(graph)
        assert screen(graph).rejected is None

    def test_mutate(self, formula):
        rng, graph = np.random.default_rng(0), evonorm.graph_of(formula)
        papers = {node.op for _ in range(300) for node in evonorm.sample_graph(rng).nodes}
        assert not papers & {"softsign", "hypotenuse", "mean_bwhc", "rms_bwhc", "std_bwhc"}
        for _ in range(100):
            evonorm.Graph.parse(str(evonorm.mutate(graph, rng)))

    def test_export(self, formula):
        graph = evonorm.graph_of(formula)
        namespace = {}
        exec(layer_source(graph, "Exported"), namespace)
        x = torch.randn(4, 8, 3, 3, dtype=torch.float64)
        torch.testing.assert_close(namespace["Exported"](8).double().plain(x), evonorm.NormAct(graph, 8).double()(x))

    def test_cost(self, formula):
        assert (
            model_cost("resnet-nano", formula).layer_multiply_adds > model_cost("resnet-nano", "x").layer_multiply_adds
        )


@pytest.mark.parametrize("name", ["softsign", "hypotenuse"])
def test_the_faces_of_its_primitives_are_one_function(name):
    every.test_every_face_is_there(name)
    every.test_torch_and_numpy_are_the_same_function(name)
    every.test_the_numpy_gradient_is_that_of_torch(name)
    every.test_the_numpy_gradient_is_that_of_finite_differences(name)
    every.test_the_exported_text_is_the_function(name)
    every.test_the_laws_that_hold_are_claimed(name)
    for law in PRIMITIVES[name].laws:
        every.test_every_law_holds(name, law)


def test_torch_compile_looks_through_them():
    every.test_torch_compile_looks_through_every_primitive()


def test_its_entry_point_is_that_of_the_package():
    (block,) = blocks(PAGE, "toml")
    project = tomllib.loads((ROOT / "tests" / "plugin_package" / "pyproject.toml").read_text())
    assert tomllib.loads(block.code)["project"]["entry-points"] == project["project"]["entry-points"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evonorm.register_primitive("soft sign", "{0}", abs, abs), "named by letters, digits and _"),
        (lambda: evonorm.register_primitive("x", "{0}", abs, abs), "named by letters, digits and _"),
        (lambda: evonorm.register_primitive("abs", "torch.abs({0})", abs, abs), "another primitive 'abs' already"),
        (lambda: evonorm.register_primitive("gelu", "torch.gelu(a)", abs, abs), r"an expression of \{0\}"),
        (lambda: evonorm.register_primitive("gelu", "torch.gelu({0}", abs, abs), "is not Python"),
        (lambda: evonorm.register_primitive("gelu", "f({0})", abs, abs, functions=("f = 1",)), "source of one `def`"),
        (lambda: evonorm.register_primitive("gelu", "f({0})", abs, None), "numpy_backward of gelu must be a function"),
        (lambda: evonorm.register_primitive("gelu", "f({0})", abs, abs, laws=("od",)), "Did you mean 'odd'"),
        (lambda: evonorm.register_primitive("gelu", "f({0})", abs, abs, laws="odd"), "collection of words"),
        (lambda: evonorm.register_primitive("gelu", "f({0}, {1})", abs, abs, laws=["odd"]), "functions of one input"),
        (lambda: evonorm.register_index_set("hw", axes="wh"), r"axes must be letters of b \(samples\)"),
        (lambda: evonorm.register_index_set("b", axes="b"), "averages over space as well"),
        (lambda: evonorm.register_index_set("g", axes="g"), "takes their channels as well"),
        (lambda: evonorm.register_index_set("wh", axes="bs"), "another index set 'wh' already, added by evonorm"),
        (lambda: evonorm.register_layer("my layer", "x"), "a layer is named by letters"),
        (lambda: evonorm.register_layer("nothing"), "needs a formula or a function"),
        (lambda: evonorm.register_layer("nothing", "max(x, 0)", normalization="x"), "give the function that builds it"),
        (lambda: evonorm.register_layer("evonorm-b0", "x"), "another layer 'evonorm-b0' already"),
        (lambda: evonorm.register_layer("nothing", "y / x"), "unknown name 'y'"),
        (lambda: evonorm.register_model("net", 3), "build of the model net must be a function"),
        (lambda: evonorm.register_anchor("resnet50", lambda *_: None), "another model 'resnet50' already"),
        (lambda: evonorm.register_data("mine", None), "load of the data set mine must be a function"),
    ],
)
def test_mistakes_are_told_and_leave_nothing_behind(call, message):
    before = [register.names() for register in REGISTERS]
    with pytest.raises((ValueError, TypeError), match=message):
        call()
    assert [register.names() for register in REGISTERS] == before


def test_a_layer_without_a_formula_has_no_graph():
    with taken_back():
        evonorm.register_layer("plain", build=lambda *settings: torch.nn.Identity())
        assert isinstance(evonorm.create_layer("plain", 4), torch.nn.Identity)
        with pytest.raises(ValueError, match="so it has no graph"):
            evonorm.graph_of("plain")


def test_source_that_cannot_be_run_troubles_only_those_who_use_it():
    with taken_back():
        source = "def wrong(a: NoSuchType) -> Tensor:\n    return a"
        evonorm.register_primitive("wrong", "wrong({0})", np.abs, np.abs, functions=(source,))
        x = torch.randn(2, 4, 3, 3, dtype=torch.float64)
        assert evonorm.create_layer("tanh(x)", 4).double()(x).isfinite().all()
        with pytest.raises(
            ValueError, match="the torch source of the primitive wrong cannot be run: name 'NoSuchType'"
        ):
            evonorm.create_layer("wrong(x)", 4).double()(x)
