"""What the kernels' operators share: when torch.compile may have one, and what decides which program it runs."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from evonorm.graph import Graph
from evonorm.kernels.call import LayerCall, MovingMoments, SyncedMoments

F = TypeVar("F", bound=Callable[..., Any])


def no_operator_for(call: LayerCall) -> str | None:
    """Why this call may not become an operator, whatever the kernel behind it; one in Python is slow elsewhere."""
    if not torch.compiler.is_compiling():
        return "torch is not compiling"
    if torch.compiler.is_exporting():
        return "what torch.export and ONNX keep must run without evonorm"
    if isinstance(call.moments, SyncedMoments):
        return "the batch moments are of all ranks, and an operator does not wait for others"
    return None


def program_settings(call: LayerCall) -> tuple[Graph, float, bool, int, int]:
    """Graph, eps, whether the moments are the batch's, and the axes of weight and bias."""
    # through text: dynamo may take a module's eps for a variable, and no program is made for a variable
    eps = float(f"{call.eps}")
    return call.graph, eps, not isinstance(call.moments, MovingMoments), call.weight.ndim, call.bias.ndim


def in_float32(call: LayerCall) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None, list[Tensor]]:
    """x as it is, and everything else that an operator takes as tensors."""
    v0, v1 = [None if each is None else each.float() for each in (call.v0, call.v1)]
    return call.x, call.weight.float(), call.bias.float(), v0, v1, [each.float() for each in call.moving]


def keep_for_backward(ctx: Any, inputs: tuple[Any, ...], kept: tuple[Tensor, ...]) -> None:
    """Inputs, what forward left, and last the moving moments, of which there may be any number."""
    x, weight, bias, v0, v1, moving, *settings = inputs
    ctx.save_for_backward(x, weight, bias, v0, v1, *kept, *moving)
    ctx.settings = settings
    ctx.set_materialize_grads(False)


def asked_while_tracing(function: F) -> F:
    """Dynamo calls the function and takes its answer for a constant.

    What torch.compiler.assume_constant_result does; calling that would import all of dynamo, which takes seconds.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function
