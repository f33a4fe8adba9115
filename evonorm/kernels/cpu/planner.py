"""Plan -> program of the CPU. Pure and cached; nothing here needs torch or the native library."""

from functools import lru_cache

from evonorm.graph import EPS, Graph
from evonorm.kernels.cpu.backward import Backward
from evonorm.kernels.cpu.forward import Forward
from evonorm.kernels.cpu.program import Program
from evonorm.kernels.cpu.slots import Slots
from evonorm.kernels.plan.plan import Plan
from evonorm.kernels.plan.rewrite import make_plan


@lru_cache(maxsize=4096)
def program_of(graph: Graph, eps: float, training: bool, per_sample: frozenset[str] = frozenset()) -> Program:
    """The program of a layer: the graph and its final affine, forward and backward."""
    return make_program(make_plan(graph, eps, training, per_sample))


def make_program(plan: Plan) -> Program:
    slots = Slots(plan)
    forward = Forward(plan, slots).phases()
    backward = Backward(plan, slots).phases()
    return Program(
        slots=tuple(slots.slots),
        forward=tuple(forward),
        backward=tuple(backward),
        moments=len(plan.moment_sources),
        parameters=tuple(slots.parameters),
        gradients=tuple(slots.gradients),
        export_rows=plan.export_rows,
        eps=plan.eps,
    )


def instruction_count(graph: Graph) -> int:
    """What a training step computes for each element: instructions and moments of all passes, forward and backward."""
    program = program_of(graph, EPS, training=True)
    passes = [stage.tiles for phase in (*program.forward, *program.backward) for stage in phase.stages if stage.tiles]
    return sum(len(each.instructions) + len(each.moments) for each in passes)
