"""What the generated kernels look like, and how a tensor is shared out: nothing here runs a kernel."""

import re

import numpy as np
import pytest

from evonorm.graph import Graph
from evonorm.kernels.gpu.program import program_of, traffic
from evonorm.kernels.gpu.tiles import Sizes, power_of_two, tile_passes, tile_rows
from evonorm.kernels.tensors import CHANNELS_FIRST, CHANNELS_LAST
from tests.kernels.reference import NATIVE_FORMULAS
from tests.kernels.test_native_values import random_graphs
from tests.kernels.test_synced import FORMULAS

ROW = re.compile(r"tl\.(load|store)\(((?:kept|adjoint|partials)\w* \+ [^,]*),")
EVONORMS = [name for name in NATIVE_FORMULAS if name.startswith("evonorm")]


def programs(graphs):
    for graph in graphs:
        for training in (True, False):
            yield program_of(graph, 1e-5, training)
        yield program_of(graph, 1e-5, True, frozenset({"weight"}))


def test_the_text_of_every_layer_is_python_without_atomics_and_races():
    """What a kernel stores no thread of it may load: nobody waits for it before the next kernel."""
    graphs = [Graph.parse(formula) for formula in (*NATIVE_FORMULAS.values(), *FORMULAS.values())]
    for program in programs([*graphs, *random_graphs(3, 60)]):
        compile(program.text, "generated", "exec")
        assert "atomic" not in program.text
        for kernel in (*program.forward, *program.backward):
            touched = {how: {at for which, at in ROW.findall(kernel.text) if which == how} for how in ("load", "store")}
            assert not touched["load"] & touched["store"], kernel.text


@pytest.mark.parametrize("name", EVONORMS)
def test_forward_moves_three_tensors_and_backward_five(name):
    program = program_of(Graph.parse(NATIVE_FORMULAS[name]), 1e-5, True)
    assert traffic(program.forward) == (2, 1)
    assert traffic(program.backward) == (4, 1)


def test_in_evaluation_a_layer_of_the_batch_is_one_pass():
    program = program_of(Graph.parse(NATIVE_FORMULAS["bn-relu"]), 1e-5, False)
    assert [kernel.shape for kernel in program.forward] == ["pass"]
    assert traffic(program.forward) == (1, 1)


def test_equal_functions_have_equal_text():
    one, other = (program_of(Graph.parse(text), 1e-5, True) for text in ("x * sigmoid(v1 * x)", "sigmoid(x * v1) * x"))
    assert [kernel.text for kernel in one.forward] == [kernel.text for kernel in other.forward]


class TestHowATensorIsSharedOut:
    def test_every_place_of_a_plane_belongs_to_one_slice(self):
        rng = np.random.default_rng(0)
        for _ in range(2000):
            batch, channels, plane, processors = (int(n) for n in rng.integers(1, [300, 600, 6000, 150]))
            for layout in (CHANNELS_FIRST, CHANNELS_LAST):
                tiling = tile_passes(batch, channels, plane, layout, processors)
                assert tiling.slice * (tiling.splits - 1) < plane <= tiling.slice * tiling.splits
                assert tiling.slice % tiling.block_p == 0
                assert power_of_two(tiling.block_p) == tiling.block_p
                assert power_of_two(tiling.block_c) == tiling.block_c

    def test_few_rows_are_cut_and_many_are_not(self):
        assert tile_passes(1, 32, 40960, CHANNELS_FIRST, 108).splits > 8
        assert tile_passes(256, 256, 3136, CHANNELS_FIRST, 108).splits == 1
        assert tile_passes(1, 64, 12544, CHANNELS_LAST, 108).splits > 100
        assert tile_passes(512, 64, 12544, CHANNELS_LAST, 108).splits == 1

    def test_the_number_of_programs_is_bounded_by_the_multiprocessors(self):
        for batch, channels, plane in ((1, 8, 10**6), (4, 64, 10**5), (30, 64, 12544)):
            for layout in (CHANNELS_FIRST, CHANNELS_LAST):
                tiling = tile_passes(batch, channels, plane, layout, 132)
                alone = batch * -(-channels // tiling.block_c)
                assert alone * tiling.splits <= max(alone, 4 * 132)

    def test_channels_that_belong_together_are_in_one_program(self):
        group = tile_rows(96, 32, frozenset({"whcg", "wh"}))
        assert (group.spans, group.span, group.block_span) == (32, 3, 4)
        whole = tile_rows(96, 32, frozenset({"whc", "wh"}))
        assert (whole.spans, whole.span, whole.block_spans) == (1, 96, 1)
        both = tile_rows(96, 32, frozenset({"whc", "whcg"}))
        assert (both.block_spans, both.block_span) == (32, 4)
        any_channels = tile_rows(96, 32, frozenset({"wh"}))
        assert (any_channels.spans, any_channels.span) == (96, 1)

    def test_an_empty_input_is_an_empty_batch(self):
        assert Sizes.of((3, 4, 0, 5), CHANNELS_FIRST, 2, 108).batch == 0
        assert Sizes.of((0, 4, 2, 5), CHANNELS_FIRST, 2, 108).plane == 1
