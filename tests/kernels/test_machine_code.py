"""Passes as machine code: every program as good as its interpretation, registers that run out, pages that go away."""

import gc
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from evonorm.graph import CATALOG, Graph, sample_graph
from evonorm.kernels.cpu import library
from evonorm.layers import NormAct
from tests.kernels.reference import compare

NATIVE = library.find_library()[0]
pytestmark = pytest.mark.skipif(NATIVE is None, reason="the native library is not built")
ENGINES = ("compiled", "avx512", "avx2", "portable")
SHAPES = (((3, 40, 3, 3), 5), ((2, 33, 7, 5), 3), ((2, 16, 16, 16), 4), ((1, 520, 4, 4), 8), ((2, 8, 48, 50), 2))


@contextmanager
def engine(name):
    best = NATIVE.isa()
    try:
        NATIVE.force_isa(name)
    except ValueError:
        pytest.skip(f"this machine cannot run {name}")
    try:
        yield
    finally:
        NATIVE.force_isa(best)


def many_live_values(count):
    """A sum of products in which the first value is needed again last: no machine has that many registers."""
    values = ["x"]
    for i in range(1, count):
        values.append((f"tanh({values[-1]})", f"({values[-1]} + v0)", f"({values[-1]} * v1)")[i % 3])
    pairs = list(zip(values, reversed(values), strict=True))[: count // 2]
    return Graph.parse(" + ".join(f"{a} * {b}" for a, b in pairs))


def graphs():
    rng = np.random.default_rng(7)
    yield from (Graph.parse(CATALOG[name].formula) for name in ("evonorm-b0", "evonorm-s0", "bn-relu", "gn-silu"))
    yield many_live_values(20)
    yield from (graph for graph in (sample_graph(rng) for _ in range(160)) if graph.reads("x"))


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_is_as_good_as_eager(name):
    with engine(name):
        for number, graph in enumerate(graphs()):
            shape, groups = SHAPES[number % len(SHAPES)]
            for channels_last in (False, True):
                found = compare(graph, shape, groups, channels_last, seed=number)
                if found is not None:
                    assert max(found[0]) <= max(1e-4, 5 * max(found[1])), (str(graph), shape, channels_last, found)


def test_a_machine_with_avx2_runs_machine_code():
    with engine("avx2"):
        pass  # skipped elsewhere
    assert NATIVE.isa() == "compiled"


@pytest.mark.parametrize("planes", [(5, 7), (8, 8)])
def test_more_values_than_registers(planes):
    graph = many_live_values(28)
    for shape in ((2, 16, *planes), (2, 64, *planes)):
        for channels_last in (False, True):
            native, eager = compare(graph, shape, 4, channels_last)
            assert max(native) <= max(3e-6, 5 * max(eager)), (native, eager)


def mapped_bytes(rights):
    maps = Path("/proc/self/maps").read_text()
    found = re.findall(rf"^(\w+)-(\w+) {rights} 00000000 00:00 0\s*$", maps, re.MULTILINE)
    return sum(int(end, 16) - int(begin, 16) for begin, end in found)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="there is no /proc here")
def test_code_goes_with_its_layer_and_is_never_writable():
    gc.collect()
    before, writable = mapped_bytes("r-xp"), mapped_bytes("rwxp")  # torch's convolutions have such pages
    layers = [NormAct(graph, 8) for graph in graphs()]
    for layer in layers:
        library.prepared_layer(layer.kernel_call(torch.ones(2, 8)))
    assert mapped_bytes("r-xp") > before or NATIVE.isa() != "compiled"
    assert mapped_bytes("rwxp") == writable
    del layers, layer
    gc.collect()
    assert mapped_bytes("r-xp") == before


def test_denormal_numbers_come_back_for_everybody_else():
    x = torch.full((1, 8, 4, 4), 1e-39)
    graph = Graph.parse("x * sigmoid(x)")
    native, _ = compare(graph, (2, 8, 4, 4), 1)
    assert max(native) < 1e-6
    assert (x * 0.5).max() > 0
