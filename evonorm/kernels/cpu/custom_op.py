"""The native kernel as `torch.library` operators: what torch.compile sees.

Eager mode calls the autograd node of `native.py` instead: an operator written in Python costs more than a small layer.
"""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from evonorm.graph import Graph
from evonorm.kernels.call import LayerCall, MovingMoments, Result, SyncedMoments, check_shapes
from evonorm.kernels.cpu.library import PITCH, PreparedLayer, prepare_layer, why_not_native
from evonorm.kernels.cpu.native import launch_backward, launch_forward, unfit
from evonorm.kernels.tensors import dense_layout, like_layout


@lru_cache(maxsize=1024)
def layer_of(text: str, eps: float, training: bool, weights: int, biases: int) -> PreparedLayer:
    """Operators take text; the layer behind it, for an affine with this many axes, is prepared once."""
    layer = prepare_layer(Graph.decode(text), eps, training, weights, biases)
    if layer is None:
        raise RuntimeError(f"the native kernel cannot run this layer: {why_not_native()}.")
    return layer


@torch.library.custom_op("evonorm::layer_forward", mutates_args=(), device_types="cpu")
def layer_forward(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    v0: Tensor | None,
    v1: Tensor | None,
    moving: list[Tensor],
    graph: str,
    groups: int,
    eps: float,
    training: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """y, the rows kept for backward, the raw batch moments (exports, C)."""
    layer = layer_of(graph, eps, training, weight.ndim, bias.ndim)
    x, layout = dense_layout(x)
    vectors = [None if each is None else each.contiguous() for each in (weight, bias, v0, v1, *moving)]
    y, saved, exports = launch_forward(layer, x, vectors, layout, groups, keep=True)
    channels = x.shape[1]
    if saved is None:
        saved = weight.new_empty(0)
    elif channels % PITCH:  # the padding of a row is never written: zeros make equal runs equal to the bit
        saved.view(-1, (channels + PITCH - 1) // PITCH * PITCH)[:, channels:] = 0
    return y, saved, weight.new_empty((0, channels)) if exports is None else exports.view(-1, channels)


@layer_forward.register_fake
def _(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    v0: Tensor | None,  # noqa: ARG001
    v1: Tensor | None,  # noqa: ARG001
    moving: list[Tensor],  # noqa: ARG001
    graph: str,
    groups: int,  # noqa: ARG001
    eps: float,
    training: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    layer = layer_of(graph, eps, training, weight.ndim, bias.ndim)
    saved = weight.new_empty(layer.saved_floats(x.shape[0], x.shape[1]))
    return torch.empty_like(dense_layout(x)[0]), saved, weight.new_empty((layer.exports, x.shape[1]))


@torch.library.custom_op("evonorm::layer_backward", mutates_args=(), device_types="cpu")
def layer_backward(
    gy: Tensor,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    v0: Tensor | None,
    v1: Tensor | None,
    saved: Tensor,
    moving: list[Tensor],
    graph: str,
    groups: int,
    eps: float,
    training: bool,
) -> list[Tensor]:
    """The gradients of x and of those of (weight, bias, v0, v1) that the layer reads, in this order."""
    layer = layer_of(graph, eps, training, weight.ndim, bias.ndim)
    x, layout = dense_layout(x)
    kept = saved if saved.numel() else None
    vectors = [None if each is None else each.contiguous() for each in (weight, bias, v0, v1, *moving)]
    grad_x, gradients = launch_backward(layer, x, like_layout(gy, layout), kept, vectors, layout, groups)
    return [grad_x, *(each for each in gradients if each is not None)]


@layer_backward.register_fake
def _(
    gy: Tensor,  # noqa: ARG001
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    v0: Tensor | None,
    v1: Tensor | None,
    saved: Tensor,  # noqa: ARG001
    moving: list[Tensor],  # noqa: ARG001
    graph: str,
    groups: int,  # noqa: ARG001
    eps: float,
    training: bool,
) -> list[Tensor]:
    layer = layer_of(graph, eps, training, weight.ndim, bias.ndim)
    vectors = (weight, bias, v0, v1)
    dense = torch.contiguous_format
    read = [torch.empty_like(vectors[i], memory_format=dense) for i in sorted(layer.gradients)]  # type: ignore[arg-type]
    return [torch.empty_like(dense_layout(x)[0]), *read]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    x, weight, bias, v0, v1, moving, *settings = inputs
    ctx.save_for_backward(x, weight, bias, v0, v1, output[1], *moving)
    ctx.settings = settings
    ctx.set_materialize_grads(False)


def _differentiate(ctx: Any, gy: Tensor | None, *_: object) -> tuple[Any, ...]:
    x, weight, bias, v0, v1, saved, *moving = ctx.saved_tensors
    graph, groups, eps, training = ctx.settings
    gradients: list[Tensor | None] = [None] * 5
    if gy is not None:
        found = layer_backward(gy, x, weight, bias, v0, v1, saved, moving, graph, groups, eps, training)
        read = sorted(layer_of(graph, eps, training, weight.ndim, bias.ndim).gradients)
        for place, gradient in zip((0, *(i + 1 for i in read)), found, strict=True):
            gradients[place] = gradient
    return (*gradients, [None] * len(moving), None, None, None, None)


layer_forward.register_autograd(_differentiate, setup_context=_keep)


def refuses_operator(call: LayerCall) -> str | None:
    """Takes what the native kernel takes, while torch compiles; a Python operator is slow elsewhere."""
    if not torch.compiler.is_compiling():
        return "torch is not compiling"
    if torch.compiler.is_exporting():
        return "what torch.export and ONNX keep must run without evonorm"
    if isinstance(call.moments, SyncedMoments):
        return "the batch moments are of all ranks, and an operator does not wait for others"
    reason = unfit(call)
    if reason is None and native_export_rows(*_prepared_by(call)) is None:
        return why_not_native()
    return reason


def run_operator(call: LayerCall) -> Result:
    """The layer as one operator in a graph that torch is compiling."""
    check_shapes(call)
    rows = native_export_rows(*_prepared_by(call))
    assert rows is not None
    v0, v1 = [None if each is None else each.float() for each in (call.v0, call.v1)]
    moving = [each.float() for each in call.moving]
    _, eps, training, _, _ = _prepared_by(call)
    y, _, exports = layer_forward(
        call.x,
        call.weight.float(),
        call.bias.float(),
        v0,
        v1,
        moving,
        call.graph.encode(),
        call.groups,
        eps,
        training,
    )
    moments = exports.detach()  # an operator's results all count as differentiable
    return y, tuple([moments[row] for row in rows])


def _prepared_by(call: LayerCall) -> tuple[Graph, float, bool, int, int]:
    # through text: dynamo may take a module's eps for a variable, and no program is made for a variable
    eps = float(f"{call.eps}")
    return call.graph, eps, not isinstance(call.moments, MovingMoments), call.weight.ndim, call.bias.ndim


def native_export_rows(graph: Graph, eps: float, training: bool, weights: int, biases: int) -> tuple[int, ...] | None:
    """Where the operator puts each batch moment; None if it cannot run this layer. Asked while tracing, not traced."""
    layer = prepare_layer(graph, eps, training, weights, biases)
    return None if layer is None else layer.export_rows


# What torch.compiler.assume_constant_result sets; calling it would import all of dynamo, which takes seconds.
native_export_rows._dynamo_marked_constant = True  # type: ignore[attr-defined]
