"""The written-out layer is the layer: same numbers, same gradients, same moving moments, same state dict."""

import ast
import sys

import numpy as np
import pytest
import torch

import evonorm
from evonorm.export.source import layer_source
from evonorm.graph import CATALOG, Graph, sample_graph
from evonorm.layers import NormAct

FORMULAS = sorted({entry.formula for entry in CATALOG.values() if entry.formula})
RANDOM = [sample_graph(np.random.default_rng(seed), nodes=4 + seed % 12) for seed in range(250)]


def load(graph, name="FoundNormAct", alone=True):
    """The class and its source; `alone` as in a process without evonorm."""
    source = layer_source(graph, name)
    namespace = {}
    with pytest.MonkeyPatch.context() as patch:
        if alone:
            patch.setitem(sys.modules, "evonorm.layers", None)
        exec(compile(source, "layer.py", "exec"), namespace)
    assert (namespace["run_exported"] is None) == alone
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
    assert modules <= {"torch", "collections.abc", "evonorm.layers"}
    (attempt,) = (node for node in tree.body if isinstance(node, ast.Try))
    assert "from evonorm.layers import run_exported" in ast.unparse(attempt)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for function in (node.name for node in tree.body if isinstance(node, ast.FunctionDef)):
        assert function in names
    assert formula in source or str(Graph.parse(formula)) in source


def test_a_class_needs_a_name():
    for name in ("1st", "class", "a b", ""):
        with pytest.raises(ValueError, match="Python identifier"):
            layer_source(RANDOM[0], name)


@pytest.mark.filterwarnings("ignore:evonorm's native kernel has no instruction:RuntimeWarning")
@pytest.mark.parametrize("formula", FORMULAS)
def test_beside_evonorm_it_runs_on_its_kernels_with_the_same_numbers(formula):
    graph = Graph.parse(formula)
    alone, beside = (load(graph, alone=alone)[0](8) for alone in (True, False))
    ours = NormAct(graph, 8)
    generator = torch.Generator().manual_seed(0)
    for training in (True, True, False):
        x = torch.randn((4, 8, 5, 5), generator=generator) * 2 + 0.3
        found = []
        for layer in (ours.train(training), beside.train(training), alone.train(training)):
            leaf = x.clone().requires_grad_()
            y = layer(leaf)
            y.square().sum().backward()
            found.append((y.detach(), leaf.grad, type(y.grad_fn).__name__))
        torch.testing.assert_close(found[1][:2], found[0][:2], rtol=0, atol=0)
        torch.testing.assert_close(found[1][:2], found[2][:2], rtol=1e-3, atol=1e-4)
        assert found[1][2] == found[0][2]
    for name, value in ours.state_dict().items():
        torch.testing.assert_close(beside.state_dict()[name], value, rtol=1e-6, atol=1e-7)


def test_weight_decay_spares_an_exported_layer():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 1), load(Graph.parse("x * sigmoid(v1 * x) / rms_whc(x)"))[0](8))
    assert evonorm.no_weight_decay(model) == {"1.weight", "1.bias", "1.v1"}
