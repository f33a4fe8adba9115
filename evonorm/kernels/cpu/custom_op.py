"""The native kernel as `torch.library` operators: what torch.compile sees.

Eager mode calls the autograd node of `native.py` instead: an operator written in Python costs more than a small layer.
"""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from evonorm.graph import Graph
from evonorm.kernels.call import LayerCall, Result, check_shapes
from evonorm.kernels.compiling import (
    asked_while_tracing,
    in_float32,
    keep_for_backward,
    no_operator_for,
    program_settings,
)
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
    keep_for_backward(ctx, inputs, output[1:2])


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
    """Takes what the native kernel takes, while torch compiles."""
    reason = no_operator_for(call) or unfit(call)
    if reason is None and native_export_rows(*program_settings(call)) is None:
        return why_not_native()
    return reason


def run_operator(call: LayerCall) -> Result:
    """The layer as one operator in a graph that torch is compiling."""
    check_shapes(call)
    rows = native_export_rows(*program_settings(call))
    assert rows is not None
    graph, eps, training, _, _ = program_settings(call)
    y, _, exports = layer_forward(*in_float32(call), graph.encode(), call.groups, eps, training)
    moments = exports.detach()  # an operator's results all count as differentiable
    return y, tuple([moments[row] for row in rows])


@asked_while_tracing
def native_export_rows(graph: Graph, eps: float, training: bool, weights: int, biases: int) -> tuple[int, ...] | None:
    """Where the operator puts each batch moment; None if it cannot run this layer."""
    layer = prepare_layer(graph, eps, training, weights, biases)
    return None if layer is None else layer.export_rows
