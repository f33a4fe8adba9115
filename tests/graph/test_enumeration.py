import itertools

import pytest

from evonorm.graph import ROWS, Graph, Node, canonical_key, simplify, small_graphs
from evonorm.graph.graph import INITIAL_NODES


def every_graph(nodes):
    """All graphs of so many nodes, written down naively."""
    places = [
        [
            Node(p.name, inputs)
            for row in ROWS
            for p in row
            for inputs in itertools.product(range(len(INITIAL_NODES) + i), repeat=p.arity)
        ]
        for i in range(nodes)
    ]
    return (Graph(choice) for choice in itertools.product(*places))


def test_one_node_is_complete():
    expected = {canonical_key(graph) for graph in every_graph(1) if simplify(graph).reads("x")}
    found = [graph.encode() for size in (0, 1) for graph in small_graphs(size)]
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_two_nodes_are_complete():
    """Those whose last node is one of a few primitives, to save time. A few canonical forms have a node more."""
    last = {"add", "div", "tanh", "std_wh"}
    smaller = {graph.encode() for size in (0, 1) for graph in small_graphs(size)}
    found = {graph.encode() for graph in small_graphs(2)}
    assert not found & smaller
    for graph in every_graph(2):
        if graph.nodes[1].op in last and graph.reads("x"):
            form = simplify(graph)
            if form.reads("x") and len(form.nodes) <= 2:
                assert form.encode() in found | smaller


@pytest.mark.slow
def test_three_nodes_hold_the_papers_random_layer_and_the_parts_of_others():
    found = {graph.encode() for graph in small_graphs(3)}
    for formula in (
        "tanh(max(x, tanh(x)))",
        "sigmoid(x) / std_wh(x)",
        "x * sigmoid(x) + x",
        "x / std_wh(x) / std_wh(x)",
    ):
        assert canonical_key(Graph.parse(formula)) in found


def test_every_graph_is_canonical_and_reads_x():
    for graph in small_graphs(2):
        assert graph.reads("x")
        assert canonical_key(graph) == graph.encode()


def test_without_batch_ops_none_has_a_batch_moment():
    without = [graph.encode() for graph in small_graphs(2, batch_ops=False)]
    assert set(without) < {graph.encode() for graph in small_graphs(2)}
    assert not any("_bwh" in text for text in without)


def test_larger_ones_are_refused():
    with pytest.raises(ValueError, match="0 to 3 nodes"):
        list(small_graphs(4))
