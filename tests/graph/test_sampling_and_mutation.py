from collections import Counter

import numpy as np
import pytest

from evonorm.graph import ROWS, Graph, mutate, sample_graph
from evonorm.graph.sampling import sample_node, sample_primitive


def test_every_row_of_the_table_is_equally_likely_then_every_index_set():
    rng = np.random.default_rng(0)
    counts = Counter(sample_primitive(rng).name for _ in range(60_000))
    for row in ROWS:
        assert sum(counts[p.name] for p in row) == pytest.approx(4000, rel=0.1)
        for primitive in row:
            assert counts[primitive.name] == pytest.approx(4000 / len(row), rel=0.2)


def test_inputs_are_uniform_over_all_earlier_nodes():
    rng = np.random.default_rng(0)
    inputs = Counter(i for _ in range(20_000) for i in sample_node(rng, 9).inputs)
    assert sorted(inputs) == list(range(9))
    assert max(inputs.values()) / min(inputs.values()) < 1.15


def test_the_same_generator_state_gives_the_same_graph():
    one, two = (sample_graph(np.random.default_rng([7, 3])) for _ in range(2))
    assert one == two
    assert len(one.nodes) == 10
    assert len(sample_graph(np.random.default_rng(0), nodes=3).nodes) == 3


def test_without_batch_ops_nothing_aggregates_over_the_batch_and_the_rest_is_uniform():
    rng = np.random.default_rng(0)
    counts = Counter(sample_primitive(rng, batch_ops=False).name for _ in range(30_000))
    assert not any(name.endswith("_bwh") for name in counts)
    assert counts["std_wh"] == pytest.approx(2000 / 3, rel=0.2)
    graph = sample_graph(rng, batch_ops=False)
    for _ in range(300):
        graph = mutate(graph, rng, batch_ops=False)
        assert not any(node.op.endswith("_bwh") for node in graph.nodes)


def test_a_mutant_differs_in_at_most_one_node_and_every_node_can_be_chosen():
    rng = np.random.default_rng(0)
    parent = sample_graph(rng)
    changed = Counter()
    for _ in range(10_000):
        child = mutate(parent, rng)
        places = [i for i, (a, b) in enumerate(zip(parent.nodes, child.nodes, strict=True)) if a != b]
        assert len(places) <= 1
        changed.update(places)
    assert sorted(changed) == list(range(10))
    assert max(changed.values()) / min(changed.values()) < 1.3


def test_mutants_print_and_parse_back():
    rng = np.random.default_rng(1)
    graph = sample_graph(rng)
    for _ in range(10_000):
        graph = mutate(graph, rng)
        assert Graph.decode(graph.encode()) == graph
        assert str(Graph.parse(str(graph))) == str(graph)
