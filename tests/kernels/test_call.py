"""A call as one value, the list of kernels that take it or say why not, and what a layer keeps of its kernels."""

import copy
import pickle

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import evonorm
from evonorm.graph import CATALOG, Graph
from evonorm.kernels import KernelCache, LayerCall, MovingMoments, choose, kernel_for, run_eager, run_layer, why_not
from evonorm.kernels.cpu import library
from evonorm.layers import NormAct

native_only = pytest.mark.skipif(library.find_library()[0] is None, reason="the native library is not built")
S0 = Graph.parse(CATALOG["evonorm-s0"].formula)


@pytest.fixture(autouse=True)
def no_forced_kernel(monkeypatch):
    monkeypatch.setattr(choose, "forced_kernel", None)


def make_call(x=None, **changes):
    x = torch.randn(2, 8, 3, 3) if x is None else x
    one = torch.ones(8, device=x.device)
    return LayerCall(S0, x, one, one, None, one, 4, 1e-5)._replace(**changes)


@native_only
class TestWhoRunsACall:
    def test_the_native_kernel_comes_first(self):
        assert kernel_for(make_call()).name == "native"
        assert why_not(make_call()) == {}

    @pytest.mark.parametrize(
        ("call", "reason"),
        [
            (make_call(torch.randn(2, 8, 3, 3).double()), "got torch.float64 on cpu"),
            (make_call(torch.randn(2, 8, 3, 3, device="meta")), "on meta"),
            (make_call(torch.randn(0, 8, 3, 3)), "the input is empty"),
            (make_call(v1=torch.ones(8, device="meta")), "a parameter is on meta"),
            (make_call(weight=torch.nn.Buffer(torch.ones(8)).as_subclass(torch.nn.Buffer)), "stands in for these"),
        ],
    )
    def test_eager_takes_what_it_refuses(self, call, reason):
        assert kernel_for(call).name == "eager"
        assert reason in why_not(call)["native"]
        assert why_not(call)["operator"] == "torch is not compiling"

    def test_transforms_and_tracers_are_named(self):
        reasons = []

        def note(x):
            reasons.append(why_not(make_call(x))["native"])
            return x.sum()

        torch.func.grad(note)(torch.randn(2, 8, 3, 3))
        make_fx(note)(torch.randn(2, 8, 3, 3))
        assert "torch.func" in reasons[0]
        assert "traces" in reasons[1]

    def test_a_graph_beyond_the_limits(self, monkeypatch):
        def too_large(*_):
            raise OverflowError

        monkeypatch.setattr(library.find_library()[0], "create", too_large)
        call = make_call(graph=Graph.parse("x * tanh(x) / std_wh(x + v1) + 1"))
        assert why_not(call)["native"] == "the graph is beyond the kernel's limits"
        torch.testing.assert_close(run_layer(call)[0], run_eager(call)[0], rtol=0, atol=0)

    def test_a_forced_kernel_gives_the_reason(self, monkeypatch):
        monkeypatch.setattr(choose, "forced_kernel", "native")
        assert kernel_for(make_call()).name == "native"
        for ask in (kernel_for, run_layer):
            with pytest.raises(TypeError, match=r"EVONORM_KERNEL=native refuses this call.*the input is empty"):
                ask(make_call(torch.randn(0, 8, 3, 3)))
        monkeypatch.setattr(choose, "forced_kernel", "eager")
        assert kernel_for(make_call()).name == "eager"
        assert why_not(make_call()) == {}


def test_moving_moments_stand_in_for_the_batchs():
    graph, one = Graph.parse("x / std_bwh(x)"), torch.ones(8)
    call = LayerCall(graph, torch.randn(2, 8, 3, 3), one, one, None, None, 1, 0.0)
    moving = call._replace(moments=MovingMoments((torch.full((8,), 4.0),)))
    for run in (run_eager, run_layer):
        y, moments = run(moving)
        torch.testing.assert_close(y, call.x / 2 + 1)
        assert moments == ()
        assert [each.shape for each in run(call)[1]] == [(8,)]


@native_only
class TestWhatALayerKeeps:
    def test_each_layer_has_its_own_and_a_copy_has_none(self):
        layer = evonorm.create_layer("evonorm-b0", 8)
        x = torch.randn(2, 8, 3, 3)
        layer(x)
        layer.eval()(x)
        assert len(layer.kernel_cache.entries) == 2
        for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), copy.copy(layer.kernel_cache)):
            cache = twin if isinstance(twin, KernelCache) else twin.kernel_cache
            assert cache.entries == {}
        assert "_prepared_layers" not in layer.graph.__dict__

    def test_layers_of_one_graph_share_the_program(self):
        x = torch.randn(2, 8, 3, 3)
        formula = "x * sigmoid(x) / rms_whc(x + v1)"
        one, other = (library.prepared_layer(NormAct(formula, 8).kernel_call(x)) for _ in range(2))
        assert one is other
        per_sample = NormAct(formula, 8).kernel_call(x, weight=torch.ones(2, 8))
        assert library.prepared_layer(per_sample) is not one

    def test_another_graph_eps_or_affine_is_another_program(self):
        layer, x = NormAct("x / std_wh(x)", 8), torch.randn(2, 8, 3, 3)
        layer(x)
        layer.eps = 1.0
        torch.testing.assert_close(layer(x), x / (x.var((2, 3), correction=0, keepdim=True) + 1).sqrt())
        layer.running_graph = Graph.parse("x + x")
        torch.testing.assert_close(layer(x), 2 * x)
        torch.testing.assert_close(layer(x, weight=torch.full((2, 8), 3.0)), 6 * x)
