"""torch.export, ONNX, AOTInductor and torch.compile: every named layer and 100 random graphs, with plain operators."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

import evonorm
from evonorm.graph import CATALOG
from evonorm.kernels import choose
from tests.graph.live_graphs import sample_live_graph

CHANNELS = 8
SHAPES = ((2, CHANNELS, 6, 6), (3, CHANNELS, 5, 7))
# What the whole space needs of a runtime, all of them in ONNX's own domain since opset 18.
OPERATORS = {
    *("Abs", "Add", "BatchNormalization", "Cast", "Clip", "Concat", "Div", "Exp", "Expand", "GreaterOrEqual", "Log"),
    *("Max", "Mul", "Neg", "Pow", "Reciprocal", "ReduceMean", "Relu", "Reshape", "Shape", "Sigmoid", "Sign", "Sqrt"),
    *("Sub", "Tanh", "Where", "Identity", "Squeeze", "Unsqueeze"),
}


class SideBySide(nn.Module):
    """Many layers of one input: an exporter's own start-up costs more than a layer."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return [layer(x) for layer in self.layers]


def side_by_side(layers, eps=1e-5):
    torch.manual_seed(0)
    model = SideBySide(evonorm.create_layer(layer, CHANNELS, groups=2, eps=eps) for layer in layers).eval()
    with torch.no_grad():
        for each in [*model.parameters(), *model.buffers()]:
            if each.is_floating_point():
                each.add_(0.2 * torch.rand_like(each))
    return model


def catalog():
    return side_by_side(CATALOG)


def random_graphs():
    rng = np.random.default_rng(25)
    return side_by_side([sample_live_graph(rng) for _ in range(100)])


def pictures(shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def reference(model, x):
    """In float64 by plain torch, and how far plain torch in fp32 is from that, layer by layer."""
    with torch.no_grad():
        exact = [y.float() for y in model.double()(x.double())]
        model.float()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(choose, "forced_kernel", "eager")
            plain = model(x)
    return exact, [distance(a, b) for a, b in zip(plain, exact, strict=True)]


def distance(found, exact):
    known = exact.isfinite() & (exact.abs() < 1e30)
    return ((found - exact)[known].norm() / exact[known].norm().clamp(min=1e-12)).item() if known.any() else 0.0


def assert_equal(found, model, x):
    exact, errors = reference(model, x)
    for layer, y, expected, error in zip(model.layers, found, exact, errors, strict=True):
        assert y.shape == x.shape
        assert distance(y, expected) <= max(1e-4, 5 * error), str(layer)


@pytest.fixture(autouse=True)
def no_forced_kernel(monkeypatch):
    monkeypatch.setattr(choose, "forced_kernel", None)
    torch._dynamo.reset()


DYNAMIC = ({0: torch.export.Dim.DYNAMIC, 2: torch.export.Dim.DYNAMIC, 3: torch.export.Dim.DYNAMIC},)


@pytest.mark.slow
@pytest.mark.parametrize("made", [catalog, random_graphs])
def test_onnx(made, tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model, path = made(), tmp_path / "layers.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shapes = ({0: "batch", 2: "height", 3: "width"},)
        torch.onnx.export(model, (pictures(SHAPES[0]),), path, dynamo=True, verbose=False, dynamic_shapes=shapes)
    graph = onnx.load(path)
    assert {(each.domain, each.version) for each in graph.opset_import if each.domain == ""} == {("", 20)}
    assert {node.domain for node in graph.graph.node} == {""}
    assert not graph.functions
    assert {node.op_type for node in graph.graph.node} <= OPERATORS
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(path, options)
    for shape in SHAPES:
        x = pictures(shape)
        found = [torch.from_numpy(y) for y in session.run(None, {session.get_inputs()[0].name: x.numpy()})]
        assert_equal(found, model, x)


@pytest.mark.slow
@pytest.mark.parametrize("made", [catalog, random_graphs])
def test_torch_export_and_compile(made, tmp_path):
    model = made()
    program = torch.export.export(model, (pictures(SHAPES[0]),), dynamic_shapes=DYNAMIC)
    assert not [node for node in program.graph.nodes if "evonorm" in str(node.target)]
    torch.export.save(program, tmp_path / "layers.pt2")
    loaded = torch.export.load(tmp_path / "layers.pt2").module()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True)
    for shape in SHAPES:
        x = pictures(shape)
        with torch.no_grad():
            assert_equal(loaded(x), model, x)
            assert_equal(compiled(x), model, x)


def test_one_compiled_function_serves_layers_of_several_eps():
    torch.manual_seed(0)
    model = nn.Sequential(*(evonorm.create_layer("evonorm-b0", CHANNELS, eps=eps) for eps in (1e-5, 1e-3, 0.1)))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True)
    for shape in SHAPES:
        x = pictures(shape)
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ["evonorm-s0", "evonorm-b0", "bn-silu"])
def test_a_training_graph_is_exported_with_its_moving_moments(name, strict):
    model, twin = (side_by_side([name]).train() for _ in range(2))
    program = torch.export.export(model, (pictures(SHAPES[0]),), strict=strict)
    assert not [node for node in program.graph.nodes if "evonorm" in str(node.target)]
    exported = program.module()
    x = pictures(SHAPES[0], seed=2)
    torch.testing.assert_close(exported(x), twin(x), rtol=1e-5, atol=1e-5)
    found = dict(exported.named_buffers())
    for buffer, expected in twin.named_buffers():
        torch.testing.assert_close(found[buffer], expected, rtol=1e-5, atol=1e-5)


def test_exporters_see_a_lean_graph():
    """The planner knows that a std is no zero and that it may go into the weight; no guard, one pass less."""
    arithmetic = ("add", "sub", "mul", "div", "recip", "sigmoid", "pow", "sqrt", "mean", "maximum", "where", "clamp")
    for name, most in (("evonorm-s0", 14), ("evonorm-b0", 14)):
        layer = evonorm.create_layer(name, CHANNELS).eval()
        program = torch.export.export(layer, (pictures(SHAPES[0]),)).run_decompositions()
        calls = [str(node.target) for node in program.graph.nodes if str(node.target)[5:].startswith(arithmetic)]
        assert not [each for each in calls if "where" in each or "clamp" in each]
        assert len(calls) <= most, calls


@pytest.mark.slow
def test_ahead_of_time_compiled_package(tmp_path):
    model = side_by_side(["evonorm-s0", "evonorm-b0", "bn-relu", "x * tanh(x) / rms_whc(x)"])
    x = pictures(SHAPES[0])
    with torch.no_grad():
        program = torch.export.export(model, (x,), dynamic_shapes=DYNAMIC)
        path = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "layers.pt2"))
        run = torch._inductor.aoti_load_package(path)
        for shape in SHAPES:
            assert_equal(run(pictures(shape)), model, pictures(shape))
