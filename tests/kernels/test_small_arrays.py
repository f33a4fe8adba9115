import numpy as np
import pytest
import torch

from evonorm.graph import CATALOG, PRIMITIVES, Graph, sample_graph
from evonorm.kernels import run_eager
from evonorm.kernels.probes.small_arrays import Probes, run_small
from tests.graph.live_graphs import sample_live_graph
from tests.kernels.reference import layer_call

PROBES, SIDE, CHANNELS_OF_GROUP, SAMPLES, GROUPS = 2, 3, 2, 3, 4


def random_probes(seed):
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((PROBES, SIDE * SIDE, CHANNELS_OF_GROUP, SAMPLES, GROUPS))
    v0, v1 = draw.standard_normal((2, PROBES, 1, CHANNELS_OF_GROUP, 1, GROUPS))
    return Probes(x, v0, v1, draw.standard_normal(x.shape))


def as_images(array):
    """(s, k, b, g) -> (b, c, w, h), channels of a group side by side."""
    moved = np.ascontiguousarray(array.transpose(2, 3, 1, 0))
    return torch.from_numpy(moved.reshape(SAMPLES, GROUPS * CHANNELS_OF_GROUP, SIDE, SIDE))


def as_vector(array):
    """(1, k, 1, g) -> (c,)"""
    return torch.from_numpy(np.ascontiguousarray(array[0, :, 0].T).reshape(-1))


def eagerly(graph, probes, p):
    x = as_images(probes.x[p]).requires_grad_()
    one, zero = torch.ones(x.shape[1], dtype=x.dtype), torch.zeros(x.shape[1], dtype=x.dtype)
    v0, v1 = as_vector(probes.v0[p]), as_vector(probes.v1[p])
    y, _ = run_eager(layer_call(graph, x, one, zero, v0, v1, groups=GROUPS, eps=1e-5))
    y.backward(as_images(probes.output_gradient[p]))
    return y.detach(), x.grad


def assert_same_as_eager(graph, probes):
    output, gradient = run_small(graph, probes)
    output = np.broadcast_to(output, probes.x.shape)
    for p in range(PROBES):
        for found, wanted in zip((output[p], gradient[p]), eagerly(graph, probes, p), strict=True):
            largest = wanted[wanted.isfinite()].abs().max().item() if wanted.isfinite().any() else 0.0
            close = {"rtol": 1e-8, "atol": 1e-10 * max(1.0, largest)}  # where large terms cancel, their rounding stays
            torch.testing.assert_close(as_images(found), wanted, **close, equal_nan=True)


FORMULAS = [
    *(f"x + {name}(x)" for name, primitive in PRIMITIVES.items() if primitive.arity == 1 and name != "neg"),
    "x / mean_bwh(x * v0)",
    "x / max(v0, 0)",  # a divisor of zero
    "max(max(x, v0), x)",  # a tie
    "(x * 0) * v1 / x",
    "std_bwh(std_whc(x)) * x",
]


@pytest.mark.parametrize("text", FORMULAS + [each.formula for each in CATALOG.values() if each.formula])
def test_same_as_the_reference_kernel(text):
    assert_same_as_eager(Graph.parse(text), random_probes(0))


def test_random_graphs_are_the_same_as_in_the_reference_kernel():
    rng, compared = np.random.default_rng(0), 0
    while compared < 400:
        graph = (sample_graph, sample_live_graph)[compared % 2](rng)
        if graph.reads("x"):
            assert_same_as_eager(graph, random_probes(compared))
            compared += 1


@pytest.mark.parametrize("text", ["log(x - v1 * (x / v1))", "v1 / (mean_wh(x - mean_wh(x)))", "abs(mean_bwh(x) - x)"])
def test_what_cancels_is_zero_and_not_the_sign_of_a_rounding_error(text):
    probes = random_probes(1)
    nearly = Probes(probes.x * (1 + 1e-15), probes.v0, probes.v1, probes.output_gradient)
    for one, other in zip(run_small(Graph.parse(text), probes), run_small(Graph.parse(text), nearly), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_a_graph_without_x_has_no_gradient():
    probes = random_probes(2)
    assert not run_small(Graph.parse("exp(v1)"), probes)[1].any()
