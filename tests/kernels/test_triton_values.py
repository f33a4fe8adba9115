"""The Triton kernels in the interpreter against float64 eager: every named layer, random graphs, odd shapes."""

import pytest
import torch

from evonorm.graph import Graph
from evonorm.kernels import run_eager
from evonorm.kernels.gpu import launch
from evonorm.kernels.gpu.layer import run_triton
from tests.graph.live_graphs import sample_live_graph
from tests.kernels.interpreted import compare_interpreted
from tests.kernels.reference import (
    NATIVE_FORMULAS,
    eager_errors_nearby,
    layer_call,
    make_inputs,
    run_and_differentiate,
)
from tests.kernels.test_native_values import SINGULAR, holds, random_graphs

pytest.importorskip("triton", reason="the kernels are Triton's")
# shape, groups, channels_last, training: slices of several chunks, a short last one, odd channels, one element
CASES = [
    ((2, 6, 3, 7), 3, False, True),
    ((2, 6, 7, 3), 2, True, True),
    ((3, 5, 3, 3), 5, True, False),
]
RANDOM_CASES = [
    *CASES,
    ((1, 4, 1, 1), 2, False, True),
    ((2, 1, 5, 3), 1, True, True),
    ((5, 3), 3, False, True),
    ((2, 4, 11), 2, False, True),
    ((2, 4, 3, 1, 3), 4, True, True),
    ((1, 70, 2, 3), 7, True, True),
]


@pytest.mark.parametrize(("number", "name"), list(enumerate(NATIVE_FORMULAS)), ids=lambda each: str(each))
def test_named_layers_are_within_2e_6_of_float64(number, name):
    shape, groups, channels_last, training = CASES[number % len(CASES)]
    check_named(name, shape, groups, channels_last, training)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "name"), list(enumerate(NATIVE_FORMULAS)), ids=lambda each: str(each))
def test_named_layers_at_more_shapes(number, name):
    for step in (1, 2, 5):
        check_named(name, *RANDOM_CASES[(number + step) % len(RANDOM_CASES)])


def check_named(name, *case):
    ours, eager = compare_interpreted(Graph.parse(NATIVE_FORMULAS[name]), *case)
    if name in SINGULAR:
        assert holds(ours, eager), (case, ours, eager)
    else:
        assert max(ours) <= max(2e-6, 5 * max(eager)), (case, ours, eager)


def worse_than_eager(graphs, limit):
    for number, graph in enumerate(graphs):
        shape, groups, channels_last, training = RANDOM_CASES[number % len(RANDOM_CASES)]
        per_sample = [(), ("weight",), ("weight", "bias"), ("bias",)][number // 3 % 4]
        case = (graph, shape, groups, channels_last, training or not graph.batch_moments, number, per_sample)
        found = compare_interpreted(*case)
        if found is not None and not holds(*found, limit) and not holds(found[0], eager_errors_nearby(*case), limit):
            yield str(graph), *case[1:], *found


def test_random_graphs_are_as_good_as_eager():
    assert list(worse_than_eager(random_graphs(70, 5, sample_live_graph), limit=3e-4)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_hundred_random_graphs_are_as_good_as_eager(seed):
    assert list(worse_than_eager(random_graphs(71 + seed, 12), limit=1e-4)) == []
    assert list(worse_than_eager(random_graphs(81 + seed, 8, sample_live_graph), limit=3e-4)) == []


@pytest.mark.parametrize(
    "formula",
    [
        "x / (std_bwh(v1 * x + std_wh(x)) + mean_bwh(std_whc(x)) + rms_bwh(v0 + std_bwh(x)))",  # moments of moments
        "x * rms_whc(mean_whcg(x) * v0) + std_whcg(std_wh(x))",  # two sets of channels in one kernel
        "mean_bwh(v0) + x * std_bwh(v1)",  # what does not vary is reported, too
        "v0 * v1",  # an output that does not read x
    ],
)
def test_graphs_that_named_layers_have_nothing_of(formula):
    ours, eager = compare_interpreted(Graph.parse(formula), (2, 4, 3, 3), 2, channels_last=True)
    assert holds(ours, eager, 2e-6), (ours, eager)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["evonorm-b0", "evonorm-s0"])
def test_half_precision_has_fp32_statistics(dtype, name):
    graph = Graph.parse(NATIVE_FORMULAS[name])
    x, vectors, moving, gy = make_inputs(graph, (2, 4, 3, 5), dtype=dtype)
    x = x + 100  # in half precision sums of squares would be off by tenths
    ours = run_and_differentiate(run_triton, graph, x, vectors, moving, gy, 2)
    eager = run_and_differentiate(run_eager, graph, x, vectors, moving, gy, 2)
    assert ours[0].dtype == dtype
    room = 4 * torch.finfo(dtype).eps
    for a, b in zip(ours, eager, strict=True):
        torch.testing.assert_close(a, b, rtol=room, atol=room * b.abs().max().item())


@pytest.mark.parametrize("channels_last", [False, True])
def test_a_mean_far_above_the_deviation(channels_last):
    graph = Graph.parse("(x - mean_bwh(x)) / std_whcg(x) + x / std_bwh(x)")
    x, vectors, moving, gy = make_inputs(graph, (2, 4, 5, 3), channels_last)
    arguments = (graph, (x + 5000).contiguous(), vectors, moving, gy, 2)
    exact = run_and_differentiate(run_eager, *arguments, dtype=torch.float64)
    ours = run_and_differentiate(run_triton, *arguments)
    for a, b in zip(ours, exact, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=2e-3, atol=2e-3 * b.abs().max().item())


def test_repeats_are_equal_to_the_bit_and_slices_to_rounding(monkeypatch):
    graph = Graph.parse(NATIVE_FORMULAS["evonorm-b0"])
    x, vectors, moving, gy = make_inputs(graph, (2, 4, 3, 5))
    once, again = (run_and_differentiate(run_triton, graph, x, vectors, moving, gy, 2) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))
    monkeypatch.setattr(launch, "INTERPRETED_PROCESSORS", 4)
    monkeypatch.setattr(launch, "INTERPRETED_TILE", 8)
    sliced = run_and_differentiate(run_triton, graph, x, vectors, moving, gy, 2)
    assert not all(torch.equal(a, b) for a, b in zip(once, sliced, strict=True)), "nothing was sliced"
    for a, b in zip(once, sliced, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_numbers_that_are_none_stand_where_eager_has_them():
    x = torch.tensor([[-2.0, -0.0, 0.0, 1e-7, 3.0, float("nan"), float("inf"), -float("inf")]])[None]  # (1, 1, 8)
    for formula in ("max(x, v1)", "log(x)", "sqrt(x)", "x / v1", "v1 / x", "tanh(x)", "sigmoid(x)", "abs(x)"):
        call = layer_call(Graph.parse(formula), x, *[torch.ones(1)] * 4, groups=1)
        torch.testing.assert_close(run_triton(call)[0], run_eager(call)[0], equal_nan=True, msg=formula)
