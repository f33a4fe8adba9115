import copy
import pickle

import pytest

from evonorm.graph import PRIMITIVES, ROWS, Graph, Node, searched_rows

B0 = "x / max(std_bwh(x), v1 * x + std_wh(x))"


def test_the_table_is_the_papers():
    elementwise = [row[0].name for row in ROWS if len(row) == 1]
    moments = [[primitive.name for primitive in row] for row in ROWS if len(row) > 1]
    assert " ".join(elementwise) == "add mul div max neg sigmoid tanh exp log abs square sqrt"
    assert [row[0].split("_")[0] for row in moments] == ["mean", "rms", "std"]
    assert all([name.split("_")[1] for name in row] == ["bwh", "whc", "wh", "whcg"] for row in moments)
    assert {primitive.name for row in ROWS for primitive in row if primitive.arity == 2} == {"add", "mul", "div", "max"}
    assert searched_rows() == ROWS


def test_pixel_norms_moments_are_in_the_language_and_not_in_the_search_space():
    others = set(PRIMITIVES) - {primitive.name for row in ROWS for primitive in row}
    assert others == {"mean_c", "rms_c", "std_c"}


def test_dead_nodes_are_kept_in_storage_and_left_out_of_the_formula():
    graph = Graph.decode("exp:0 std_bwh:0 sigmoid:4 div:0,5")
    assert graph.live == (0, 5, 7)
    assert str(graph) == "x / std_bwh(x)"
    assert Graph.decode(graph.encode()) == graph
    assert [number for number, _ in graph.live_nodes] == [5, 7]


def test_reads_only_counts_live_nodes():
    graph = Graph.decode("mul:3,2 std_bwh:0 div:0,5")
    assert graph.reads("x")
    assert not graph.reads("v1")
    assert not graph.reads("v0")


def test_batch_moments_are_the_live_ones_in_order():
    assert Graph.parse("x / rms_bwh(x) + mean_bwh(x)").batch_moments == (4, 6)
    assert Graph.decode("mean_bwh:0 std_wh:0").batch_moments == ()


def test_graphs_are_values():
    one, two = Graph.parse(B0), Graph.parse(B0)
    assert one == two
    assert hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(two)
    with pytest.raises(AttributeError):
        one.nodes = ()


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ((), "1 to 60 intermediate nodes, got 0"),
        ((Node("sine", (0,)),), "no primitive 'sine'"),
        ((Node("add", (0,)),), "add takes 2 input"),
        ((Node("neg", (4,)),), "inputs are earlier nodes, 0 to 3"),
        ((Node("neg", (-1,)),), "inputs are earlier nodes"),
        ((Node("neg", ("x",)),), "inputs are earlier nodes"),
    ],
)
def test_a_broken_graph_cannot_be_made(nodes, message):
    with pytest.raises(ValueError, match=message):
        Graph(nodes)


@pytest.mark.parametrize("text", ["add", "add:", "add:0,x", "add:0;1", "add 0 1", "add:0,-1", "add:0,²"])
def test_a_broken_stored_graph_is_refused(text):
    with pytest.raises(ValueError, match="expected a word like"):
        Graph.decode(text)
