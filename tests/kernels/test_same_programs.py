"""The CPU's programs for affines of shape (C,), word for word what they were before the planner was cut in two."""

import hashlib

import numpy as np
import pytest

from evonorm.graph import Graph, sample_graph
from evonorm.kernels.cpu.planner import program_of
from tests.graph.live_graphs import sample_live_graph
from tests.kernels.reference import NATIVE_FORMULAS

# Of commit 263d02e, but for the sign of a zero constant in four of the random graphs: -0 is folded to 0 since.
DIGESTS = {
    "catalog": "cb0600fa69ec7d07",
    "random_graphs": "258fafb2bd12c158",
    "live_graphs": "4a5926afe5d85d8d",
}


def catalog():
    return [Graph.parse(formula) for formula in NATIVE_FORMULAS.values()]


def random_graphs():
    rng = np.random.default_rng(19)
    return [sample_graph(rng, nodes=int(rng.integers(1, 25))) for _ in range(200)]


def live_graphs():
    rng = np.random.default_rng(20)
    return [sample_live_graph(rng) for _ in range(200)]


@pytest.mark.parametrize("graphs", [catalog, random_graphs, live_graphs])
def test_programs_are_the_same(graphs):
    digest = hashlib.sha256()
    for graph in graphs():
        for eps, training in ((1e-5, True), (1e-5, False), (1e-3, True)):
            digest.update(program_of(graph, eps, training).encode())
    assert digest.hexdigest()[:16] == DIGESTS[graphs.__name__]
