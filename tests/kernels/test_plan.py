"""The planner alone: what it folds, how many passes it needs, and that it sees functions, not node numbers."""

import re
from pathlib import Path

import numpy as np
import pytest

from evonorm.graph import CATALOG, Graph, Node, sample_graph
from evonorm.graph.graph import INITIAL_NODES
from evonorm.kernels.cpu.opcodes import OPCODES
from evonorm.kernels.cpu.planner import program_of
from evonorm.kernels.cpu.program import Home, Mode
from evonorm.kernels.plan import rewrite
from evonorm.kernels.plan.rewrite import make_plan
from evonorm.kernels.plan.values import Kind
from tests.graph.live_graphs import sample_live_graph
from tests.kernels.reference import NATIVE_FORMULAS


def planned(formula, training=True):
    return program_of(Graph.parse(formula), 1e-5, training)


def passes(phases):
    return [stage.tiles for phase in phases for stage in phase.stages if stage.tiles is not None]


def instructions(phases):
    return [i.op for tiles in passes(phases) for i in tiles.instructions]


def shuffled(graph, rng):
    """The same function: live nodes in another order that still computes, commutative inputs swapped."""
    order, waiting = [], [number for number, _ in graph.live_nodes]
    while waiting:
        ready = [n for n in waiting if all(i < len(INITIAL_NODES) or i in order for i in graph.node(n).inputs)]
        chosen = int(rng.choice([n for n in ready if n != graph.output] or ready))
        order.append(chosen)
        waiting.remove(chosen)
    numbers = {number: number for number in range(len(INITIAL_NODES))}
    numbers.update({old: len(INITIAL_NODES) + place for place, old in enumerate(order)})
    nodes = []
    for old in order:
        inputs = tuple(numbers[i] for i in graph.node(old).inputs)
        swap = graph.node(old).op in ("add", "mul", "max") and rng.integers(2)
        nodes.append(Node(graph.node(old).op, inputs[::-1] if swap else inputs))
    return Graph(tuple(nodes))


def test_names_and_order_of_nodes_do_not_matter():
    rng = np.random.default_rng(3)
    graphs = [Graph.parse(formula) for formula in NATIVE_FORMULAS.values()]
    graphs += [graph for graph in (sample_graph(rng) for _ in range(100)) if graph.reads("x")]
    for graph in graphs:
        twin = shuffled(graph, rng)
        one, other = program_of(graph, 1e-5, True), program_of(twin, 1e-5, True)
        if len(graph.batch_moments) < 2:  # with several, they are exported in the graph's own order
            assert one.encode() == other.encode(), (graph.encode(), twin.encode())
        assert instructions(one.forward) == instructions(other.forward)
        assert sorted(instructions(one.backward)) == sorted(instructions(other.backward))


def test_every_graph_can_be_planned():
    rng = np.random.default_rng(4)
    for _ in range(1500):
        graph = sample_live_graph(rng)
        for training in (True, False):
            assert program_of(graph, 1e-5, training).backward


def test_passes_of_the_papers_layers():
    s0, b0 = planned(CATALOG["evonorm-s0"].formula), planned(CATALOG["evonorm-b0"].formula)
    assert [len(s0.forward), len(passes(s0.forward))] == [1, 2]  # both in one sweep over the samples
    assert [len(b0.forward), len(passes(b0.forward))] == [2, 2]
    assert len(passes(s0.backward)) == len(passes(b0.backward)) == 2
    assert set(s0.saved_kinds) == {Kind.SAMPLE}
    assert len(s0.saved_kinds) == 2  # std and its mean; everything else is computed again
    assert instructions(b0.backward)[-2:] == ["sub_mul", "sub_mul"]  # the last pass only adds what came from moments


def test_eval_mode_needs_no_moments():
    program = planned(CATALOG["bn-relu"].formula, training=False)
    assert program.moments == 0
    assert program.exports == 0
    assert set(program.parameters) == {"weight", "bias", "moving0", "moving1"}
    assert len(passes(program.forward)) == len(passes(program.backward)) == 1


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        ("x + 0", "x"),
        ("x * 1", "x"),
        ("x / 1", "x"),
        ("-(-x)", "x"),
        ("max(x, x)", "x"),
        ("x * x", "square(x)"),
        ("mean_wh(v1) * x", "v1 * x"),
        ("mean_whc(std_wh(0)) * x", "std_wh(0) * x"),
        ("x * sigmoid(0) + tanh(0)", "x * sigmoid(0)"),
        ("(x + v1) * (x + v1)", "square(v1 + x)"),
        ("x + (-v1)", "x - v1"),
        ("v1 * x / v1", "v1 / v1 * x"),
        ("-(x / v1) * v1", "v1 / v1 * -x"),
        ("v1 * x / -x", "x / -x * v1"),
        ("x * std_wh(x + v1)", "x * (std_wh(x) + (v1 - v1))"),
        ("x * std_whcg(std_whc(x) - x)", "x * (std_whcg(x) + (std_whc(x) - std_whc(x)))"),
    ],
)
def test_rewrites(formula, same):
    assert planned(formula).encode() == planned(same).encode()


def test_moments_of_what_does_not_vary_are_no_moments():
    for formula in ("x * std_wh(v1)", "x * rms_wh(v1)", "x * std_whcg(mean_whc(x) * 0)", "x * std_bwh(v1)"):
        typed = make_plan(Graph.parse(formula), 1e-5, True)
        assert not [v for v in typed.values if v.moment in ("std", "rms")], formula


def test_batch_moments_of_constants_are_still_exported():
    program = planned("x * std_bwh(v1) + rms_bwh(v1) + mean_bwh(v1) + std_bwh(x) + std_bwh(std_bwh(x))")
    assert len(program.export_rows) == 5
    assert sorted(slot.index for slot in program.slots if slot.home == Home.EXPORT) == list(range(program.exports))


def test_batch_moments_of_batch_moments_are_exported_each():
    once, twice = planned("x / std_bwh(x)"), planned("x / mean_bwh(std_bwh(x))")
    assert (once.exports, twice.exports) == (1, 2)
    shifted = planned("x / std_bwh(x + v1)")
    assert (shifted.exports, shifted.moments) == (1, 1)


def test_a_divisor_that_cannot_vanish_is_not_guarded():
    assert "div_max" in instructions(planned("sigmoid(v1 / max(std_wh(x), x))").forward)
    assert "div" in instructions(planned("v1 / x").forward)
    assert "div" not in instructions(planned(CATALOG["evonorm-b0"].formula).forward)


def test_random_programs_hold_together():
    rng = np.random.default_rng(11)
    for _ in range(300):
        program = program_of(sample_graph(rng, nodes=int(rng.integers(1, 30))), 1e-5, bool(rng.integers(2)))
        for tiles in passes(program.forward) + passes(program.backward):
            written = {0, 1, 2} | set(range(3 + tiles.temporaries, 3 + tiles.temporaries + len(tiles.loads)))
            for i in tiles.instructions:
                assert len(i.operands) == OPCODES[i.op]
                assert set(i.operands) <= written, "a buffer is read before it is written"
                assert i.mode != Mode.ADD or i.dst in written
                written.add(i.dst)


def test_the_plan_is_for_any_device():
    folder = Path(rewrite.__file__).parent
    for file in folder.glob("*.py"):
        imported = re.findall(r"^\s*(?:from|import) (\S+)", file.read_text(), re.MULTILINE)
        assert not [name for name in imported if name.startswith(("torch", "evonorm.kernels.cpu"))], file.name
