"""Every primitive has all its faces, and they are faces of one function."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
import torch
from torch import nn

from evonorm.export import layer_source
from evonorm.graph import INDEX_SETS, PRIMITIVES, Graph, Node
from evonorm.graph.graph import V1, X
from evonorm.graph.moments import AXES
from evonorm.graph.primitive import LAWS
from evonorm.graph.templates import Piece
from evonorm.kernels import run_small, torch_function
from evonorm.kernels.cpu.opcodes import OPCODES
from evonorm.layers import NormAct
from evonorm.models.layer_cost import layer_multiply_adds, layer_to_count
from evonorm.pictures import formula_mathml, graph_svg
from tests.kernels.test_small_arrays import assert_same_as_eager, random_probes

ELEMENTWISE = [name for name, primitive in PRIMITIVES.items() if not primitive.aggregates]
MOMENTS = [name for name, primitive in PRIMITIVES.items() if primitive.aggregates]
FIGURES = np.concatenate((np.random.default_rng(0).normal(0, 2, 400), [0.0, 1.0, -1.0, 1e-4, -1e-4, 30.0, -30.0]))


def inputs_of(name):
    """Points in the plane for a function of two inputs, on a line for one of one."""
    if PRIMITIVES[name].arity == 1:
        return [FIGURES]
    return [FIGURES, np.random.default_rng(1).permutation(FIGURES)]


def graph_with(name):
    """x or v1 through the primitive, plus x, so that its value is read beside another."""
    inputs = (X, V1)[: PRIMITIVES[name].arity]
    return Graph((Node(name, inputs), Node("add", (X, 4))))


@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_face_is_there(name):
    primitive = PRIMITIVES[name]
    graph = graph_with(name)
    assert Graph.parse(str(graph)).encode() == graph.encode()
    assert "x" in graph.latex()
    assert graph.latex().count("{") == graph.latex().count("}")
    assert "x" in "".join(ET.fromstring(formula_mathml(graph)).itertext())
    assert primitive.symbol in "".join(ET.fromstring(graph_svg(graph)).itertext())
    assert layer_multiply_adds(layer_to_count(graph, True), 8, 9, behind_conv=False) >= 8 * 9
    assert primitive.laws <= LAWS.keys()
    assert primitive.cost > 0
    if primitive.aggregates:
        index_set = INDEX_SETS[primitive.index_set]
        assert index_set.axes <= AXES.keys()
        assert primitive.needs_batch == ("b" in index_set.axes)
    else:
        assert None not in (primitive.torch, primitive.numpy, primitive.numpy_backward)
    if primitive.adjoint is not None:
        assert name in OPCODES
        assert len(primitive.adjoint) == primitive.arity
        assert all(op in OPCODES for op, _ in primitive.adjoint)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_torch_and_numpy_are_the_same_function(name):
    inputs = inputs_of(name)
    found = torch_function(name)(*(torch.from_numpy(each) for each in inputs)).numpy()
    np.testing.assert_allclose(PRIMITIVES[name].numpy(*inputs), found, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_the_numpy_gradient_is_that_of_torch(name):
    leaves = [torch.from_numpy(each.copy()).requires_grad_() for each in inputs_of(name)]
    y = torch_function(name)(*leaves)
    g = np.random.default_rng(2).normal(size=len(FIGURES))
    y.backward(torch.from_numpy(g))
    found = PRIMITIVES[name].numpy_backward(g, y.detach().numpy(), *inputs_of(name))
    for leaf, gradient in zip(leaves, found, strict=True):
        np.testing.assert_allclose(gradient, leaf.grad.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_the_numpy_gradient_is_that_of_finite_differences(name):
    """Independent of torch; away from where a function has a corner or a gap."""
    primitive, inputs = PRIMITIVES[name], inputs_of(name)
    smooth = np.all([np.abs(each) > 0.05 for each in inputs], axis=0) & (np.abs(inputs[0] - inputs[-1]) < 1e3)
    if primitive.arity == 2:
        smooth &= np.abs(inputs[0] - inputs[1]) > 0.05
    inputs = [each[smooth & (np.abs(FIGURES) < 20)] for each in inputs]
    ones = np.ones_like(inputs[0])
    found = primitive.numpy_backward(ones, primitive.numpy(*inputs), *inputs)
    for place, gradient in enumerate(found):
        step = np.cbrt(np.finfo(float).eps)
        above, below = (
            primitive.numpy(*(each + sign * step if i == place else each for i, each in enumerate(inputs)))
            for sign in (1, -1)
        )
        np.testing.assert_allclose(
            np.broadcast_to(gradient, ones.shape), (above - below) / (2 * step), rtol=1e-4, atol=1e-7
        )


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_of_probes_are_those_of_torch(name):
    assert_same_as_eager(graph_with(name), random_probes(0))


@pytest.mark.parametrize("name", MOMENTS)
def test_a_moments_gradient_is_that_of_finite_differences(name):
    probes = random_probes(3)
    graph = Graph((Node(name, (X,)), Node("mul", (X, 4))))
    direction = np.random.default_rng(4).standard_normal(probes.x.shape)

    def loss(step):
        moved = type(probes)(probes.x + step * direction, probes.v0, probes.v1, probes.output_gradient)
        return (run_small(graph, moved)[0] * probes.output_gradient).sum()

    slope = (loss(1e-6) - loss(-1e-6)) / 2e-6
    assert (run_small(graph, probes)[1] * direction).sum() == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_the_exported_layer_is_the_layer(name):
    graph = graph_with(name)
    namespace = {}
    exec(layer_source(graph, "Exported"), namespace)
    x = torch.randn(4, 8, 3, 3, dtype=torch.float64)
    ours, exported = NormAct(graph, 8).double(), namespace["Exported"](8).double()
    torch.testing.assert_close(exported.plain(x), ours(x), rtol=0, atol=0)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_the_exported_text_is_the_function(name):
    """Brackets included: inputs that are sums, products and negations stay whole."""
    primitive = PRIMITIVES[name]
    a, b = (torch.from_numpy(each) for each in inputs_of("add"))
    texts = [Piece("a + b", 0), Piece("-a", 2)][: primitive.arity]
    written = primitive.torch.fill(texts, lambda text: f"({text})").text
    namespace = {"torch": torch, "Tensor": torch.Tensor, "a": a, "b": b}
    exec("\n".join((*primitive.functions, f"y = 2 * ({written}) - b")), namespace)
    wanted = 2 * torch_function(name)(*[a + b, -a][: primitive.arity]) - b
    torch.testing.assert_close(namespace["y"], wanted, rtol=0, atol=0)


def test_torch_compile_looks_through_every_primitive():
    """In float64, where plain torch runs; some were registered after that was imported."""
    formula = " + ".join(
        f"{name}({', '.join(('x', 'v1')[: p.arity])})" for name, p in PRIMITIVES.items() if p.is_function
    )
    layer = nn.Sequential(NormAct("x", 8), NormAct(f"x / exp(-x) * ({formula})", 8)).double()
    x = torch.randn(4, 8, 3, 3, dtype=torch.float64)
    torch.testing.assert_close(torch.compile(layer, backend="eager", fullgraph=True)(x), layer(x))


def value(name, *inputs):
    """The primitive on probes, (p, s, k, b, g); moments broadcast."""
    if not PRIMITIVES[name].aggregates:
        return PRIMITIVES[name].numpy(*inputs)
    probes = random_probes(0)
    graph = Graph((Node(name, (X,)),))
    output, _ = run_small(graph, type(probes)(inputs[0], probes.v0, probes.v1, probes.output_gradient))
    return np.broadcast_to(output, inputs[0].shape)


HOLDS = {
    "odd": lambda f, a: np.allclose(f(-a), -f(a), rtol=1e-12, atol=1e-14),
    "even": lambda f, a: np.allclose(f(-a), f(a), rtol=1e-12, atol=1e-14),
    "zero_at_zero": lambda f, a: not f(np.zeros_like(a)).any(),
    "never_negative": lambda f, *inputs: (f(*inputs) >= 0).all(),
    "keeps_sign": lambda f, *inputs: (f(*map(np.abs, inputs)) >= 0).all(),
    "commutative": lambda f, a, b: np.array_equal(f(a, b), f(b, a)),
}


@pytest.mark.parametrize(("name", "law"), [(n, law) for n, p in PRIMITIVES.items() for law in sorted(p.laws)])
def test_every_law_holds(name, law):
    probes = random_probes(5)
    inputs = (probes.x * 3, probes.output_gradient)[: PRIMITIVES[name].arity]
    assert HOLDS[law](lambda *arrays: value(name, *arrays), *inputs)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_the_laws_that_hold_are_claimed(name):
    """What simplification could use and does not know; sigmoid, exp and the like keep a sign because they have none."""
    primitive = PRIMITIVES[name]
    unary = {"odd", "even", "zero_at_zero"} if primitive.arity == 1 else {"commutative"}
    inputs = [probe * 3 for probe in (random_probes(5).x, random_probes(6).x)][: primitive.arity]
    found = {law for law in unary if HOLDS[law](lambda *arrays: value(name, *arrays), *inputs)}
    assert found == primitive.laws & unary


@pytest.mark.parametrize("name", [each for each in ELEMENTWISE if PRIMITIVES[each].lower is not None])
def test_lower_bounds_bound(name):
    rng = np.random.default_rng(7)
    for _ in range(200):
        low = rng.normal(0, 2, PRIMITIVES[name].arity)
        inputs = [each + np.abs(rng.normal(0, 2, 50)) for each in low]
        assert (PRIMITIVES[name].numpy(*inputs) >= PRIMITIVES[name].lower(*low) - 1e-12).all()
