"""Weight and bias per sample, (B, C): the native kernel against float64 eager, and eager against the affine by hand."""

import itertools
import warnings

import numpy as np
import pytest
import torch

from evonorm.graph import CATALOG, Graph
from evonorm.kernels import LayerCall, kernel_for, run_eager, run_layer
from evonorm.kernels.cpu.custom_op import layer_backward, layer_forward
from evonorm.kernels.cpu.library import find_library, prepared_layer
from evonorm.kernels.plan import Kind, make_plan
from evonorm.layers import create_layer
from tests.kernels.reference import EPS, NATIVE_FORMULAS, compare, layer_call, make_inputs, run_and_differentiate
from tests.kernels.test_native_values import SINGULAR, holds, random_graphs, worse_than_eager

native_only = pytest.mark.skipif(find_library()[0] is None, reason="the native library is not built")
BOTH = ("weight", "bias")
AFFINES = [BOTH, ("weight",), ("bias",)]
B0, S0 = Graph.parse(CATALOG["evonorm-b0"].formula), Graph.parse(CATALOG["evonorm-s0"].formula)


@pytest.mark.parametrize("names", AFFINES)
@pytest.mark.parametrize("shape", [(3, 8), (3, 8, 5), (3, 8, 4, 5), (0, 8, 4, 4)])
def test_eager_is_the_layer_without_an_affine_times_weight_plus_bias(names, shape):
    x, vectors, _, gy = make_inputs(S0, shape, per_sample=names)
    found = run_and_differentiate(run_eager, S0, x, vectors, None, gy, 4, torch.float64)
    one, zero = torch.ones(8), torch.zeros(8)

    def by_hand(call):
        plain, moments = run_eager(call._replace(weight=one, bias=zero))
        affine = [v.reshape(-1, 8, *[1] * (len(shape) - 2)) if shape[0] else 1 for v in (call.weight, call.bias)]
        return plain * affine[0] + affine[1], moments

    if shape[0]:
        expected = run_and_differentiate(by_hand, S0, x, vectors, None, gy, 4, torch.float64)
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b)
    assert found[2].shape == vectors[0].shape
    assert found[0].shape == shape


def test_gradients_of_eager_are_right_to_the_second_order():
    x, vectors, _, _ = make_inputs(B0, (3, 4, 2, 2), per_sample=BOTH)
    leaves = [each.double().requires_grad_() for each in (x, vectors[0], vectors[1], vectors[3])]

    def run(x, weight, bias, v1):
        return run_eager(LayerCall(B0, x, weight, bias, None, v1, 2, EPS))[0]

    assert torch.autograd.gradcheck(run, leaves)
    assert torch.autograd.gradgradcheck(run, leaves, fast_mode=True)


@native_only
class TestNative:
    @pytest.mark.parametrize("name", NATIVE_FORMULAS)
    def test_named_layers_are_as_near_to_float64_as_with_one_affine(self, name):
        graph = Graph.parse(NATIVE_FORMULAS[name])
        sizes = (((4, 16, 20, 20), 4), ((3, 24, 7, 5), 4), ((5, 64, 3, 3), 32))
        for (shape, groups), channels_last, training in itertools.product(sizes, (False, True), (True, False)):
            for names in AFFINES:
                found = compare(graph, shape, groups, channels_last, training, per_sample=names)
                if name in SINGULAR:
                    assert found is None or holds(*found), (shape, names, found)
                else:
                    assert max(found[0]) <= 2e-6, (shape, channels_last, training, names, found)

    @pytest.mark.parametrize("seed", range(6))
    def test_random_graphs_are_as_good_as_eager(self, seed):
        rng = np.random.default_rng(300 + seed)
        graphs = random_graphs(300 + seed, 25)
        worse = [worse_than_eager(graph, rng, 4, per_sample=AFFINES[rng.integers(3)]) for graph in graphs]
        assert list(itertools.chain(*worse)) == []

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("channels_last", [False, True])
    @pytest.mark.parametrize("graph", [B0, S0], ids=["b0", "s0"])
    def test_half_precision_is_fp32_arithmetic_rounded_once(self, graph, channels_last, dtype):
        for shape in ((4, 24, 10, 9), (2, 16, 16, 16), (3, 5, 3, 3)):
            inputs = make_inputs(graph, shape, channels_last, dtype, per_sample=BOTH)
            native = run_and_differentiate(run_layer, graph, *inputs, 1)
            exact = run_and_differentiate(run_eager, graph, *inputs, 1, torch.float64)
            assert native[0].dtype == dtype
            for a, b in zip(native, exact, strict=True):
                unit = torch.finfo(a.dtype).eps
                torch.testing.assert_close(a.double(), b, rtol=max(unit, 1e-4), atol=5e-4)

    def test_the_call_runs_on_the_native_kernel_whatever_memory_the_affine_has(self):
        x, vectors, _, gy = make_inputs(S0, (4, 24, 5, 5), True, per_sample=BOTH)
        expected = run_and_differentiate(run_layer, S0, x, vectors, None, gy, 4)
        both = torch.cat(vectors[:2], 1).requires_grad_()  # what an embedding gives, cut in two
        weight, bias = both.chunk(2, 1)
        call = layer_call(S0, x, weight, bias, None, vectors[3], groups=4)
        assert kernel_for(call).name == "native"
        y, _ = run_layer(call)
        assert torch.equal(y, expected[0])
        assert torch.equal(torch.autograd.grad(y, both, gy)[0], torch.cat(expected[2:4], 1))
        expanded = layer_call(S0, x, vectors[0][:1].expand(4, -1), vectors[1], None, vectors[3], groups=4)
        plain = layer_call(S0, x, vectors[0][0], vectors[1], None, vectors[3], groups=4)
        assert torch.equal(run_layer(expanded)[0], run_layer(plain)[0])

    def test_threads_do_not_change_a_bit(self):
        for shape in ((9, 64, 16, 16), (1, 96, 24, 24)):
            inputs = make_inputs(B0, shape, True, per_sample=BOTH)
            before, results = torch.get_num_threads(), []
            for threads in (1, 3):
                torch.set_num_threads(threads)
                results.append(run_and_differentiate(run_layer, B0, *inputs, 8))
            torch.set_num_threads(before)
            assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))

    def test_operator_and_autograd_node_agree(self):
        for names, training in itertools.product(AFFINES, (True, False)):
            inputs = make_inputs(B0, (3, 20, 6, 5), True, training=training, per_sample=names)

            def operator(call, training=training):
                settings = (list(call.moving), call.graph.encode(), call.groups, call.eps)
                y, _, exports = layer_forward(*call[1:6], *settings, training=training)
                return y, tuple(exports[row] for row in prepared_layer(call).export_rows)

            node = run_and_differentiate(run_layer, B0, *inputs, 4)
            assert all(
                torch.equal(a, b) for a, b in zip(node, run_and_differentiate(operator, B0, *inputs, 4), strict=True)
            )

    def test_operators_pass_torchs_own_checks(self):
        x, vectors, _, gy = make_inputs(S0, (2, 8, 3, 3), per_sample=BOTH)
        vectors[0] = torch.randn(2, 16)[:, ::2]
        settings = ([], S0.encode(), 4, EPS, True)
        torch.library.opcheck(layer_forward, (x, *vectors, *settings), test_utils="test_faketensor")
        saved = layer_forward(x, *vectors, *settings)[1]
        torch.library.opcheck(layer_backward, (gy, x, *vectors, saved, *settings), test_utils="test_faketensor")

    @pytest.mark.parametrize("name", ["evonorm-b0", "gn-relu"])
    def test_compile_in_one_graph_and_export(self, name):
        layer = create_layer(name, 16)
        x, affine = torch.randn(4, 16, 6, 6), torch.randn(4, 32)

        def run(layer):
            leaf = affine.clone().requires_grad_()
            weight, bias = leaf.chunk(2, 1)
            y = layer(x, weight=weight, bias=bias)
            return y, torch.autograd.grad(y.square().sum(), leaf)[0]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = run(torch.compile(layer, fullgraph=True, backend="aot_eager"))
            program = torch.export.export(layer.eval(), (x, affine[:, :16], affine[:, 16:]))
        assert "evonorm" not in str(program.graph)
        torch.testing.assert_close(program.module()(x, affine[:, :16], affine[:, 16:]), layer(x, *affine.chunk(2, 1)))
        for a, b in zip(compiled, run(layer.train()), strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("run", [run_eager, run_layer])
@pytest.mark.parametrize("shape", [(9,), (1, 8), (3, 8), (2, 9), (2, 8, 1), (), (16,)])
def test_wrong_shapes_are_told(run, shape):
    x, one = torch.randn(2, 8, 3, 3), torch.ones(8)
    for place, name in enumerate(("weight", "bias")):
        affine = [one, one]
        affine[place] = torch.ones(shape)
        with pytest.raises(ValueError, match=rf"{name} has shape.*It must be \(8,\), or \(2, 8\) per sample"):
            run(layer_call(S0, x, *affine, None, one, groups=4))


def test_v0_and_v1_are_per_channel():
    x, one = torch.randn(2, 8, 3, 3), torch.ones(8)
    for run in (run_eager, run_layer):
        with pytest.raises(ValueError, match=r"Parameters are \(8,\) here"):
            run(layer_call(S0, x, one, one, None, torch.ones(2, 8), groups=4))


def test_the_plan_knows_which_parameters_are_per_sample():
    plan = make_plan(S0, EPS, True, frozenset({"bias"}))
    assert plan.parameters == {"weight": Kind.CHANNEL, "bias": Kind.SAMPLE, "v1": Kind.CHANNEL}
