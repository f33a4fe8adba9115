from collections import Counter

import numpy as np
import pytest

from evonorm.graph import ROWS, Graph, canonical_key, mutate, mutate_locally, sample_graph, with_dead_nodes
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


@pytest.mark.parametrize("batch_ops", [True, False])
def test_a_local_mutant_is_its_parent_but_for_one_place(batch_ops):
    rng = np.random.default_rng(1)
    sizes = Counter()
    for _ in range(2000):
        parent = sample_graph(rng, batch_ops=batch_ops)
        child = mutate_locally(parent, rng, batch_ops)
        assert len(child.nodes) == len(parent.nodes)
        assert child != parent
        assert batch_ops or not child.batch_moments
        before, after = (Counter(node.op for _, node in graph.live_nodes) for graph in (parent, child))
        sizes[after.total() - before.total()] += 1
        if after.total() == before.total():
            assert (before - after).total() <= 1 or child.live != parent.live
    assert sizes[0] > 100
    assert sizes[1] > 100
    assert sizes[-1] > 100


def test_a_local_mutation_reaches_b0_from_its_founder_and_the_whole_neighbourhood():
    """x / max(std_whc(x), x) becomes x / max(std_whc(x), v1 * x), one node on an edge, and the other way round."""
    rng = np.random.default_rng(0)
    founder, grown = "x / max(std_whc(x), x)", "x / max(std_whc(x), v1 * x)"
    for parent, wanted in ((founder, grown), (grown, founder), (founder, "x / max(std_bwh(x), x)")):
        start = with_dead_nodes(Graph.parse(parent), rng)
        found = {canonical_key(mutate_locally(start, rng)) for _ in range(20_000)}
        assert canonical_key(Graph.parse(wanted)) in found


def test_a_full_graph_does_not_grow():
    rng = np.random.default_rng(0)
    full = Graph.decode("exp:0 tanh:4 sigmoid:5 abs:6")  # every node lives
    children = [mutate_locally(full, rng) for _ in range(300)]
    assert all(len(child.nodes) == 4 for child in children)
    assert {len(child.live_nodes) for child in children} >= {3, 4}
