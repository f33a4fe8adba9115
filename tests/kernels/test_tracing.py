"""What a tracer or another dispatcher sees of a layer: its operations, never memory that nobody has written.

The native kernel writes through raw pointers, which no tracer follows; wherever somebody else looks on or stands in for
the tensors, plain torch must run.
"""

import warnings

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

import evonorm
from evonorm.kernels import choose

LAYERS = ("evonorm-b0", "evonorm-s0", "bn-silu", "gn-relu", "x * sigmoid(x) / rms_whc(x)")


@pytest.fixture(autouse=True)
def native_kernel(monkeypatch):
    monkeypatch.setattr(choose, "forced_kernel", None)


def made(name):
    torch.manual_seed(0)
    layer = evonorm.create_layer(name, 8).eval()
    x = torch.randn(3, 8, 5, 5)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        return layer, x, layer(x)


def dirty_memory():
    """Leaves freed blocks behind that hold no plausible values, so that reading one cannot look right by luck."""
    blocks = [torch.full((3, 8, 5, 5), 1e30) for _ in range(64)]
    del blocks


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_jit_trace_holds_the_layer(name, mode):
    layer, x, expected = made(name)
    with mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated, and still what many exporters call
        traced = torch.jit.trace(layer, (x,), check_trace=False)
    dirty_memory()
    other = torch.randn_like(x)
    assert torch.allclose(traced(x), expected, atol=1e-6)
    assert torch.allclose(traced(other), layer(other), atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_make_fx_holds_the_layer(name):
    layer, x, expected = made(name)
    with torch.no_grad():
        traced = make_fx(layer)(x)
    dirty_memory()
    other = torch.randn_like(x)
    assert torch.allclose(traced(x), expected, atol=1e-6)
    assert torch.allclose(traced(other), layer(other), atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_the_old_onnx_exporter_holds_the_layer(name, tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    layer, x, expected = made(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(layer, (x,), tmp_path / "layer.onnx", dynamo=False)
    assert onnx.load(tmp_path / "layer.onnx").graph.input
    session = runtime.InferenceSession(tmp_path / "layer.onnx")
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    assert torch.allclose(torch.from_numpy(found), expected, atol=1e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_a_dispatch_mode_sees_the_layer(name):
    class Seen(TorchDispatchMode):
        names: list[str]

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    layer, x, expected = made(name)
    seen = Seen()
    seen.names = []
    with seen, torch.no_grad():
        found = layer(x)
    assert torch.allclose(found, expected, atol=1e-6)
    assert any("mul" in each or "div" in each for each in seen.names)


@pytest.mark.parametrize("name", LAYERS)
def test_fake_tensors_go_through(name):
    with FakeTensorMode():
        layer = evonorm.create_layer(name, 8)
        assert layer(torch.randn(3, 8, 5, 5)).shape == (3, 8, 5, 5)
        assert layer.eval()(torch.randn(3, 8, 5, 5)).shape == (3, 8, 5, 5)


class Wrapped(torch.Tensor):
    """Somebody's tensor that stands in for another one: its own memory is not what it means."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        unwrap = lambda each: each.inner if isinstance(each, Wrapped) else each  # noqa: E731
        out = func(*torch.utils._pytree.tree_map(unwrap, args), **torch.utils._pytree.tree_map(unwrap, kwargs or {}))
        return torch.utils._pytree.tree_map(lambda each: Wrapped(each) if isinstance(each, torch.Tensor) else each, out)


@pytest.mark.parametrize("name", LAYERS)
def test_a_tensor_subclass_goes_through_its_own_dispatch(name):
    layer, x, expected = made(name)
    with torch.no_grad():
        found = layer(Wrapped(x))
    assert isinstance(found, Wrapped)
    assert torch.allclose(found.inner, expected, atol=1e-6)


def test_parameters_that_stand_in_for_others_count_too():
    layer, x, expected = made("evonorm-s0")
    weight = layer.weight.detach()
    del layer.weight
    layer.weight = Wrapped(weight)
    with torch.no_grad():
        found = layer(x)
    assert torch.allclose(getattr(found, "inner", found), expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYERS)
def test_the_onnx_exporter_sees_plain_torch(name, tmp_path):
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    layer, x, expected = made(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(layer, (x,), tmp_path / "layer.onnx", dynamo=True, verbose=False)
    session = runtime.InferenceSession(tmp_path / "layer.onnx")
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    assert torch.allclose(torch.from_numpy(found), expected, atol=1e-5)
