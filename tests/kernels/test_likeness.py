"""How alike layers are, against correlations computed by hand with torch."""

import numpy as np
import pytest
import torch

from evonorm.graph import Graph, graph_of, sample_graph
from evonorm.kernels import FAMILY, likeness, probe_batches, run_eager, signature
from evonorm.kernels.call import LayerCall
from evonorm.kernels.probes.likeness import GROUPS_KEPT


def of(one, other):
    return likeness(signature(graph_of(one)), signature(graph_of(other)))


def slow_signature(graph):
    """The same by plain torch in float64, probe by probe and channel by channel."""
    probes = probe_batches()
    halves = ([], [])
    for p in range(len(probes.x)):
        pixels, in_group, samples, groups = probes.x.shape[1:]
        # (s, k, b, g) -> (b, g * k, s): channel c = g * in_group + k
        x = torch.tensor(probes.x[p]).permute(2, 3, 1, 0).reshape(samples, groups * in_group, pixels).requires_grad_()
        back = torch.tensor(probes.output_gradient[p]).permute(2, 3, 1, 0).reshape(x.shape)
        one, zero = torch.ones(x.shape[1], dtype=x.dtype), torch.zeros(x.shape[1], dtype=x.dtype)
        y, _ = run_eager(LayerCall(graph, x, one, zero, zero.clone(), one.clone(), groups, 1e-5))
        (gradient,) = torch.autograd.grad(y, x, back)
        for half, values in zip(halves, (y.detach(), gradient), strict=True):
            for channel in range(GROUPS_KEPT * in_group):
                row = values[:, channel].flatten().numpy()
                centred = row - row.mean()
                half.append(centred / np.linalg.norm(centred))
    return [np.concatenate(half) for half in halves]


@pytest.mark.parametrize("pair", [("bn-relu", "bn-silu"), ("evonorm-b0", "evonorm-b2"), ("evonorm-s0", "gn-relu")])
def test_it_is_the_mean_of_two_correlations(pair):
    (out, back), (other_out, other_back) = (slow_signature(graph_of(name)) for name in pair)
    channels = len(out) / 27
    expected = abs(out @ other_out + back @ other_back) / (2 * channels)
    assert of(*pair) == pytest.approx(expected, abs=1e-4)


def test_an_affine_and_a_sign_change_nothing():
    assert of("x / std_bwh(x)", "mean_bwh(x) - x / std_bwh(x)") == pytest.approx(1.0, abs=1e-3)


def test_constants_make_a_family_and_ideas_do_not():
    gate = "x / (std_bwh(x + tanh(v1)) / sigmoid(x + tanh(v1)))"
    assert of(gate, "x / (std_bwh(x) / sigmoid(x + sigmoid(v1)))") > 0.99
    assert of("evonorm-s0", "evonorm-s1") > 0.99  # another root of the same moment; at v1 = 1 one layer
    assert FAMILY < of("bn-relu", "bn-silu") < 0.98  # neighbours, and yet two points apart when trained
    for other in ("evonorm-b0", "evonorm-s0", "gn-relu", "x * x", "tanh(x)"):
        assert of("bn-relu", other) < 0.9


def test_every_graph_has_a_signature():
    rng = np.random.default_rng(0)
    for _ in range(300):
        found = signature(sample_graph(rng))
        assert np.isfinite(found).all()
        assert np.linalg.norm(found) <= 1.0001
    assert not signature(Graph.parse("v0 + v1")).any()
