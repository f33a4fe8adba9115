import math

import numpy as np
import pytest
import torch

from evonorm.graph import CATALOG, PRIMITIVES, Graph, mutate, sample_graph
from evonorm.kernels import run_eager
from tests.kernels.reference import layer_call

FORMULAS = {name: entry.formula for name, entry in CATALOG.items() if entry.formula}


def run(text, x, v0=None, v1=None, groups=2, eps=1e-5, moving=None):
    channels = x.shape[1]
    ones, zeros = x.new_ones(channels), x.new_zeros(channels)
    graph = Graph.parse(text) if isinstance(text, str) else text
    v0, v1 = zeros if v0 is None else v0, ones if v1 is None else v1
    return run_eager(layer_call(graph, x, ones, zeros, v0, v1, groups=groups, eps=eps, moving=moving))


def one_channel(*values):
    return torch.tensor(values, dtype=torch.float64).reshape(1, 1, -1).requires_grad_()


@pytest.mark.parametrize(
    ("text", "at", "value", "slope"),
    [
        ("log(x)", 0.0, 0.0, 0.0),
        ("log(x)", -2.0, -math.log(2.00001), 1 / 2.00001),
        ("sqrt(x)", 0.0, 0.0, 0.0),
        ("sqrt(x)", -4.0, -math.sqrt(4.00001), 0.5 / math.sqrt(4.00001)),
        ("1 / x", 0.0, 1e6, 0.0),
        ("1 / x", -0.0, 1e6, 0.0),
        ("1 / x", 1e-8, 1e6, 0.0),
        ("1 / x", -1e-8, -1e6, 0.0),
        ("1 / x", 0.5, 2.0, -4.0),
        ("max(x, 0)", 0.0, 0.0, 0.5),
        ("max(x, x)", 3.0, 3.0, 1.0),
        ("abs(x)", -3.0, 3.0, -1.0),
        ("exp(x)", 1.0, math.e, math.e),
        ("mean_wh(x)", 3.0, 3.0, 1.0),
        ("rms_wh(x)", 3.0, math.sqrt(9.00001), 3 / math.sqrt(9.00001)),
        ("std_wh(x)", 3.0, math.sqrt(1e-5), 0.0),
        ("std_bwh(x)", 3.0, math.sqrt(1e-5), 0.0),
    ],
)
def test_the_contracts_numerics(text, at, value, slope):
    x = one_channel(at)
    y, _ = run(text, x, groups=1)
    y.sum().backward()
    assert y.item() == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert x.grad.item() == pytest.approx(slope, rel=1e-9, abs=1e-12)


def test_max_lets_nan_through_from_either_side():
    nan = one_channel(float("nan"))
    for text in ("max(x, 0)", "max(0, x)"):
        assert run(text, nan, groups=1)[0].isnan().all()


def test_index_sets():
    x = torch.arange(2 * 4 * 3, dtype=torch.float64).reshape(2, 4, 3)
    expected = {
        "bwh": x.mean((0, 2), keepdim=True),
        "whc": x.mean((1, 2), keepdim=True),
        "wh": x.mean(2, keepdim=True),
        "whcg": x.reshape(2, 2, 6).mean(2, keepdim=True).repeat_interleave(2, 1),
    }
    for index_set, mean in expected.items():
        y, _ = run(f"mean_{index_set}(x)", x)
        torch.testing.assert_close(y, mean.expand_as(x))


def test_moments_of_moments_see_the_broadcast_value():
    """A moment of something already averaged equals the moment of the same tensor written out in full."""
    x = torch.randn(3, 4, 2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for outer in (name for name, primitive in PRIMITIVES.items() if primitive.aggregates):
        for inner in (name for name, primitive in PRIMITIVES.items() if primitive.aggregates):
            small, _ = run(f"{inner}(x)", x)
            written_out, _ = run(f"{outer}(x)", small.contiguous())
            nested, _ = run(f"{outer}({inner}(x))", x)
            torch.testing.assert_close(nested, written_out)


def test_batch_moments_come_out_raw_and_moving_ones_replace_them():
    x = torch.randn(5, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    text = "mean_bwh(x) + rms_bwh(x) + std_bwh(x)"
    y, (mean, square, var) = run(text, x)
    torch.testing.assert_close(mean, x.mean((0, 2)))
    torch.testing.assert_close(square, x.square().mean((0, 2)))
    torch.testing.assert_close(var, x.var((0, 2), correction=0))
    again, nothing = run(text, torch.zeros_like(x), moving=[mean, square, var])
    torch.testing.assert_close(again, y)
    assert nothing == ()


def test_constant_outputs_fill_the_shape_and_can_be_written_to():
    x = torch.randn(2, 4, 3, 3).to(memory_format=torch.channels_last)
    for text in ("0", "1", "v1", "mean_whc(x)", "mean_bwh(0)"):
        y, _ = run(text, x)
        assert y.shape == x.shape
        y.add_(1)
        assert y.is_contiguous(memory_format=torch.channels_last)


def test_no_random_graph_or_mutant_raises():
    rng = np.random.default_rng(0)
    x = torch.randn(2, 4, 3, 3, generator=torch.Generator().manual_seed(0))
    for _ in range(10_000):
        graph = sample_graph(rng)
        for each in (graph, mutate(graph, rng)):
            assert run(each, x)[0].shape == x.shape


def test_printed_and_parsed_graphs_are_the_same_function():
    rng = np.random.default_rng(1)
    x = torch.randn(2, 4, 2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    v0, v1 = torch.randn(2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for _ in range(1000):
        graph = sample_graph(rng)
        torch.testing.assert_close(
            run(graph, x, v0, v1)[0], run(str(graph), x, v0, v1)[0], rtol=0, atol=0, equal_nan=True
        )


def smooth_random_graphs(count):
    """Random graphs that vary with x and stay moderate, so that finite differences mean something."""
    rng, found = np.random.default_rng(4), []
    x = torch.randn(3, 4, 2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    while len(found) < count:
        graph = sample_graph(rng)
        if not graph.reads("x"):
            continue
        leaf = x.clone().requires_grad_()
        y, _ = run(graph, leaf)
        (slope,) = torch.autograd.grad(y.square().sum(), leaf)
        if 1e-2 < slope.abs().max() < 1e2 and y.abs().max() < 1e2:
            found.append(graph)
    return found


@pytest.mark.parametrize(
    "graph",
    [Graph.parse(FORMULAS["evonorm-b0"]), Graph.parse(FORMULAS["evonorm-s0"]), *smooth_random_graphs(20)],
    ids=str,
)
def test_twice_differentiable(graph):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(3, 4, 2, 2, dtype=torch.float64, generator=generator).requires_grad_()
    vectors = [torch.rand(4, dtype=torch.float64, generator=generator).add(0.5).requires_grad_() for _ in range(4)]

    def function(x, weight, bias, v0, v1):
        return run_eager(layer_call(graph, x, weight, bias, v0, v1, groups=2, eps=1e-5))[0]

    torch.autograd.gradcheck(function, (x, *vectors))
    torch.autograd.gradgradcheck(function, (x, *vectors), atol=1e-4)
