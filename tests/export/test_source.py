"""The written-out layer is the layer: same numbers, same gradients, same moving moments, same state dict."""

import ast

import numpy as np
import pytest
import torch

from evonorm.export.source import layer_source
from evonorm.graph import CATALOG, Graph, sample_graph
from evonorm.layers import NormAct

FORMULAS = sorted({entry.formula for entry in CATALOG.values() if entry.formula})
RANDOM = [sample_graph(np.random.default_rng(seed), nodes=4 + seed % 12) for seed in range(250)]


def load(graph, name="FoundNormAct"):
    source = layer_source(graph, name)
    namespace = {}
    exec(compile(source, "layer.py", "exec"), namespace)
    return namespace[name], source


def pair(graph, channels, **changes):
    ours = NormAct(graph, channels, **changes)
    theirs = load(graph)[0](channels, **changes)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def assert_equal(ours, theirs):
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    torch.testing.assert_close(theirs, ours, rtol=1e-10, atol=1e-12, equal_nan=True)


def compare(graph, shape=(3, 8, 4, 4), **changes):
    """Two training steps with gradients, then evaluation, in float64."""
    ours, theirs = (each.double() for each in pair(graph, shape[1], **changes))
    generator = torch.Generator().manual_seed(0)
    for _ in range(2):
        x = torch.randn(shape, generator=generator, dtype=torch.float64) * 2 + 0.3
        found = []
        for layer in (ours, theirs):
            leaf = x.clone().requires_grad_()
            y = layer(leaf)
            if y.requires_grad:
                y.square().sum().backward()
            found.append((y.detach(), torch.zeros_like(x) if leaf.grad is None else leaf.grad))
        assert_equal(found[0][0], found[1][0])
        assert_equal(found[0][1], found[1][1])
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    for key, value in ours.state_dict().items():
        assert_equal(value, theirs.state_dict()[key])
    assert_equal(ours.eval()(x), theirs.eval()(x))


@pytest.mark.parametrize("formula", FORMULAS)
def test_every_layer_of_the_catalog(formula):
    graph = Graph.parse(formula)
    compare(graph)
    compare(graph, (4, 64, 3, 3))
    compare(graph, (5, 6))
    compare(graph, (2, 4, 3, 3, 2), groups=2, eps=1e-3, momentum=0.3)
    compare(graph, nonlinearity=False)


def test_random_graphs():
    for graph in RANDOM:
        compare(graph)


def test_half_precision_comes_back_in_half():
    ours, theirs = pair(Graph.parse("x * sigmoid(v1 * x) / std_whcg(x)"), 8)
    x = torch.randn(2, 8, 4, 4).bfloat16()
    assert_equal(ours(x), theirs(x))


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_source_imports_torch_alone_and_has_nothing_unused(formula):
    source = load(Graph.parse(formula))[1]
    tree = ast.parse(source)
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert modules <= {"torch", "collections.abc"}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for function in (node.name for node in tree.body if isinstance(node, ast.FunctionDef)):
        assert function in names
    assert formula in source or str(Graph.parse(formula)) in source


def test_a_class_needs_a_name():
    for name in ("1st", "class", "a b", ""):
        with pytest.raises(ValueError, match="Python identifier"):
            layer_source(RANDOM[0], name)
