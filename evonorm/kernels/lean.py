"""What exporters see: the plan's values as torch operations, fewer and cheaper ones than the graph's own nodes.

The planner drops the guard of a division that cannot act, moves small factors into the weight and knows what is
constant, and no runtime finds that out again. Only for calls without moments of this batch; the others go to plain
torch.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from evonorm.graph import Graph
from evonorm.kernels.call import LayerCall, MovingMoments, Result, check_shapes
from evonorm.kernels.eager import per_channel, raw_moment, torch_function
from evonorm.kernels.plan.rewrite import make_plan
from evonorm.kernels.plan.values import NoInstructionError

OPERATIONS: dict[str, Callable[..., Tensor]] = {  # the planner's own; primitives have theirs in their records
    "copy": lambda a: a,
    "sub": lambda a, b: a - b,
    "fma": lambda a, b, c: a * b + c,
    "recip": lambda a: torch_function("div")(torch.ones_like(a), a),
    "recip_plain": lambda a: 1 / a,
    "div_plain": lambda a, b: a / b,
    "sqrt_plus": lambda a, b: torch.sqrt(a + b),
    "norm_plus": lambda a, b: torch.sqrt(a * a + b),
}


class LeanValue(NamedTuple):
    """A value of a plan in words and numbers that dynamo takes for constants."""

    op: str
    inputs: tuple[int, ...]
    constant: float
    moment: str
    index_set: str
    which: int  # of the moving moments


def lean_values(graph: Graph, eps: float, per_sample: tuple[str, ...]) -> tuple[tuple[LeanValue, ...], int] | None:
    """The values of a layer's plan with moving moments, and the output's number; None where there is no plan."""
    try:
        plan = make_plan(graph, eps, False, frozenset(per_sample), trust_moving=True)
    except NoInstructionError:
        return None
    values = [LeanValue(v.op, v.inputs, v.constant, v.moment, v.index_set, v.index) for v in plan.values]
    return tuple(values), plan.output


# What torch.compiler.assume_constant_result sets; calling it would import all of dynamo, which takes seconds.
lean_values._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _planned(call: LayerCall) -> tuple[tuple[LeanValue, ...], int] | None:
    named = (("weight", call.weight), ("bias", call.bias))
    return lean_values(call.graph, float(f"{call.eps}"), tuple([name for name, each in named if each.ndim == 2]))


def refuses_lean(call: LayerCall) -> str | None:
    """Takes what is exported, unless moments of the batch must be reported."""
    if not (torch.compiler.is_exporting() or torch.onnx.is_in_onnx_export()):
        return "nothing is being exported"
    if call.graph.batch_moments and not isinstance(call.moments, MovingMoments):
        return "moments of the batch are asked for"
    return "a primitive has no place in plans" if _planned(call) is None else None


def run_lean(call: LayerCall) -> Result:
    """The call by its plan."""
    check_shapes(call)
    planned = _planned(call)
    assert planned is not None
    plan, output = planned
    x = call.x
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    wide = wide.unsqueeze(-1) if x.ndim == 2 else wide
    values: list[Tensor] = []
    for value in plan:
        values.append(_compute(value, [values[i] for i in value.inputs], call, wide))
    y = values[output]
    y = y if y.shape == wide.shape else y + torch.zeros_like(wide)
    return y.reshape(x.shape).to(x.dtype), ()


def _compute(value: LeanValue, inputs: list[Tensor], call: LayerCall, wide: Tensor) -> Tensor:
    if value.op == "x":
        return wide
    if value.op == "const":
        return wide.new_full((1,) * wide.ndim, value.constant)
    if value.op == "moment":
        raw = raw_moment(value.moment, value.index_set, inputs[0], call.groups)
        return raw if value.moment == "mean" else torch.sqrt(raw + call.eps)
    if value.inputs:
        return (OPERATIONS.get(value.op) or torch_function(value.op))(*inputs)
    vectors = {"weight": call.weight, "bias": call.bias, "v0": call.v0, "v1": call.v1}
    vector = call.moving[value.which] if value.op == "moving" else vectors[value.op]
    assert vector is not None
    return per_channel(vector, wide)
