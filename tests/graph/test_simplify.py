import numpy as np
import pytest
import torch

from evonorm.graph import CATALOG, Graph, canonical_key, mutate, sample_graph, simplify
from evonorm.kernels import run_eager
from tests.kernels.reference import layer_call


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x + 0", "x"),
        ("x * 0", "0"),
        ("x * 1", "x"),
        ("x / 1", "x"),
        ("0 / x", "0"),
        ("--x", "x"),
        ("x - x", "0"),
        ("x * x", "square(x)"),
        ("max(x, x)", "x"),
        ("max(max(x, v0), x)", "max(v0, x)"),
        ("max(abs(x), 0)", "abs(x)"),
        ("max(exp(x) + std_wh(x), 0)", "std_wh(x) + exp(x)"),
        ("abs(abs(x))", "abs(x)"),
        ("abs(-x)", "abs(x)"),
        ("abs(sigmoid(x))", "sigmoid(x)"),
        ("square(-x)", "square(x)"),
        ("square(abs(x))", "square(x)"),
        ("tanh(-x)", "-tanh(x)"),
        ("log(-x)", "-log(x)"),
        ("-x * v1", "-(v1 * x)"),
        ("-x / v1", "-(x / v1)"),
        ("-x - v1", "-(x + v1)"),
        ("rms_wh(-x)", "rms_wh(x)"),
        ("rms_bwh(abs(x))", "rms_bwh(x)"),
        ("std_bwh(-x)", "std_bwh(x)"),
        ("mean_wh(-x)", "-mean_wh(x)"),
        ("mean_wh(std_whcg(x))", "std_whcg(x)"),
        ("mean_whcg(std_whc(x))", "std_whc(x)"),
        ("mean_wh(v1)", "v1"),
        ("mean_whc(mean_wh(x))", "mean_whc(x)"),
        ("mean_bwh(mean_wh(x))", "mean_bwh(x)"),
        ("mean_whc(std_whc(x) + 1)", "1 + std_whc(x)"),
        ("sqrt(0) + x", "x"),
    ],
)
def test_sure_identities(text, same):
    assert canonical_key(Graph.parse(text)) == canonical_key(Graph.parse(same))


@pytest.mark.parametrize(
    ("text", "different"),
    [
        ("std_wh(v1)", "0"),  # keeps its eps
        ("rms_wh(std_wh(x))", "std_wh(x)"),
        ("mean_bwh(v1)", "v1"),  # in evaluation it is a moving moment
        ("mean_whc(v1)", "v1"),
        ("mean_whcg(v1)", "v1"),
        ("mean_whc(mean_bwh(x))", "mean_whc(x)"),
        ("std_whc(mean_wh(x))", "std_whc(x)"),
        ("x / -v1", "-(x / v1)"),  # differs at v1 = 0
        ("x / x", "1"),
        ("log(1)", "0"),
        ("sqrt(1)", "1"),
        ("sqrt(square(x))", "abs(x)"),
        ("std_bwh(abs(x))", "std_bwh(x)"),
        ("sigmoid(-x)", "-sigmoid(x)"),
        ("exp(0)", "0"),
        ("max(-abs(x), 0)", "0"),
    ],
)
def test_what_only_looks_like_an_identity_stays(text, different):
    assert canonical_key(Graph.parse(text)) != canonical_key(Graph.parse(different))


def test_duplicates_of_the_papers_lists_are_found():
    keys = {name: canonical_key(Graph.parse(entry.formula)) for name, entry in CATALOG.items() if entry.formula}
    assert len({keys[f"b-top{i}"] for i in range(1, 11)}) == 8
    assert len({keys[f"s-top{i}"] for i in range(1, 11)}) == 5
    assert keys["b-top6"] == keys["evonorm-b0"]


def test_node_order_and_commuted_inputs_do_not_matter():
    one = Graph.decode("std_bwh:0 mul:3,0 std_wh:0 add:5,6 max:4,7 div:0,8")
    two = Graph.decode("std_wh:0 exp:3 mul:0,3 add:4,6 std_bwh:0 max:7,8 div:0,9")
    assert canonical_key(one) == canonical_key(two)


def outputs(graph, moving_scale):
    """Train-mode and eval-mode outputs in float64 on one random batch with random parameters."""
    rng = torch.Generator().manual_seed(5)
    x, (weight, v0, v1) = (torch.randn(s, generator=rng).double() for s in ((3, 8, 2, 3), (3, 8)))
    settings = {"groups": 4, "eps": 1e-5}
    trained, raw = run_eager(layer_call(graph, x, weight, weight, v0, v1, **settings))
    moving = [moving_scale * each for each in raw]
    evaluated, _ = run_eager(layer_call(graph, x, weight, weight, v0, v1, **settings, moving=moving))
    return trained, evaluated


def test_simplifying_never_changes_the_function():
    """Thousands of random graphs and mutants of the catalog, in training and in evaluation mode."""
    rng = np.random.default_rng(0)
    catalog = [Graph.parse(entry.formula) for entry in CATALOG.values() if entry.formula]
    graphs = [sample_graph(rng) for _ in range(2500)]
    graphs += [mutate(mutate(catalog[i % len(catalog)], rng), rng) for i in range(500)]
    changed = 0
    for graph in graphs:
        simple = simplify(graph)
        assert simplify(simple) == simple
        changed += len(simple.nodes) < len(graph.live_nodes)
        for one, two in zip(outputs(graph, 1.5), outputs(simple, 1.5), strict=True):
            usual = one.isfinite() & (one.abs() < 1e6)  # beyond, a sum of rounding errors may be anything
            torch.testing.assert_close(one[usual], two[usual], rtol=1e-6, atol=1e-8)
    assert changed > 300
