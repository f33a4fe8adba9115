"""Graph -> program. Pure and cached; nothing here needs torch or the native library."""

from functools import lru_cache

from evonorm.graph import Graph
from evonorm.kernels.cpu.backward import Backward
from evonorm.kernels.cpu.forward import Forward
from evonorm.kernels.cpu.program import Program
from evonorm.kernels.cpu.slots import Slots
from evonorm.kernels.plan.rewrite import typed_values


@lru_cache(maxsize=4096)
def plan(graph: Graph, eps: float, training: bool) -> Program:
    """The program of a layer: the graph and its final affine, forward and backward."""
    typed = typed_values(graph, eps, training)
    slots = Slots(typed)
    forward = Forward(typed, slots)
    forward_phases = forward.phases()
    backward = Backward(typed, slots, typed.number_of("x"))
    backward_phases = backward.phases()
    return Program(
        slots=tuple(slots.slots),
        forward=tuple(forward_phases),
        backward=tuple(backward_phases),
        moments=len(forward.moment_numbers),
        parameters=tuple(slots.parameters),
        gradients=tuple(slots.gradients),
        export_rows=forward.export_rows,
        eps=eps,
    )
