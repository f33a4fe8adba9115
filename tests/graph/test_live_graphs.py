from collections import Counter

import numpy as np
import pytest

from evonorm.graph.graph import X
from tests.graph.live_graphs import sample_live_graph


def x_reaches_the_output_element_by_element(graph):
    carries = {X}
    for number, node in graph.live_nodes:
        if not node.primitive.aggregates and not carries.isdisjoint(node.inputs):
            carries.add(number)
    return graph.output in carries


@pytest.mark.parametrize("batch_ops", [True, False])
def test_every_graph_lets_x_through(batch_ops):
    rng = np.random.default_rng(0)
    for _ in range(2000):
        graph = sample_live_graph(rng, batch_ops=batch_ops)
        assert len(graph.nodes) == 10
        assert x_reaches_the_output_element_by_element(graph)
        assert batch_ops or not any(node.primitive.needs_batch for node in graph.nodes)


def test_each_number_of_live_nodes_is_as_likely():
    rng = np.random.default_rng(1)
    counts = Counter(len(sample_live_graph(rng).live_nodes) for _ in range(4500))
    assert set(counts) == set(range(2, 11))
    assert all(400 < count < 600 for count in counts.values())


@pytest.mark.parametrize("nodes", [1, 2, 3, 20])
def test_any_number_of_nodes(nodes):
    rng = np.random.default_rng(2)
    assert all(len(sample_live_graph(rng, nodes).nodes) == nodes for _ in range(100))


def test_one_seed_one_graph():
    assert sample_live_graph(np.random.default_rng(3)) == sample_live_graph(np.random.default_rng(3))
