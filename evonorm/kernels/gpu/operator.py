"""The Triton kernels as `torch.library` operators: what torch.compile sees, and leaves whole.

With `EVONORM_KERNEL=inductor` it sees plain torch instead, and fuses that in its own way.
"""

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
from evonorm.kernels.gpu.first_use import checked
from evonorm.kernels.gpu.launch import launch_backward, launch_forward
from evonorm.kernels.gpu.layer import places, unfit
from evonorm.kernels.gpu.modules import find_triton
from evonorm.kernels.gpu.prepared import TritonLayer, layer_of
from evonorm.kernels.plan.values import PARAMETERS
from evonorm.kernels.tensors import CHANNELS_FIRST, CHANNELS_LAST, dense_layout, like_layout

CHECKED_PLANE = (14, 14)  # of the check while torch compiles: sizes may be variables then


def decoded(text: str, eps: float, training: bool, weight: Tensor, bias: Tensor) -> TritonLayer:
    """Operators take text; the layer behind it is prepared once."""
    layer = layer_of(Graph.decode(text), eps, training, weight.ndim, bias.ndim)
    if isinstance(layer, str):
        raise RuntimeError(f"the Triton kernels cannot run this layer: {layer}.")  # noqa: TRY004 (no type is wrong)
    return layer


@torch.library.custom_op("evonorm::triton_forward", mutates_args=())
def triton_forward(
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
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """y, and the rows kept for backward: of samples, of channels (with the raw batch moments), and a count."""
    layer = decoded(graph, eps, training, weight, bias)
    x, layout = dense_layout(x)
    y, kept = launch_forward(layer, x, dense_vectors(layer, (weight, bias, v0, v1, *moving)), layout, groups)
    return (y, *kept)


def dense_vectors(layer: TritonLayer, vectors: tuple[Tensor | None, ...]) -> dict[str, Tensor]:
    return {name: each.contiguous() for name, each in layer.named(vectors).items()}


@triton_forward.register_fake
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
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    program, (batch, channels) = decoded(graph, eps, training, weight, bias).program, x.shape[:2]
    samples = weight.new_empty((program.kept_samples, batch, channels))
    y = torch.empty_like(dense_layout(x)[0])
    return y, samples, weight.new_empty((program.kept_channels, channels)), weight.new_empty((1,))


@torch.library.custom_op("evonorm::triton_backward", mutates_args=())
def triton_backward(
    gy: Tensor,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    v0: Tensor | None,
    v1: Tensor | None,
    kept: list[Tensor],
    moving: list[Tensor],
    graph: str,
    groups: int,
    eps: float,
    training: bool,
) -> list[Tensor]:
    """The gradients of x and of those of (weight, bias, v0, v1) that the layer reads, in this order."""
    layer = decoded(graph, eps, training, weight, bias)
    x, layout = dense_layout(x)
    vectors = dense_vectors(layer, (weight, bias, v0, v1, *moving))
    rows = (kept[0], kept[1], kept[2])
    gx, gradients = launch_backward(layer, x, like_layout(gy, layout), rows, vectors, layout, groups)
    return [gx, *(each for each in gradients if each is not None)]


@triton_backward.register_fake
def _(
    gy: Tensor,  # noqa: ARG001
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    v0: Tensor | None,
    v1: Tensor | None,
    kept: list[Tensor],  # noqa: ARG001
    moving: list[Tensor],  # noqa: ARG001
    graph: str,
    groups: int,  # noqa: ARG001
    eps: float,
    training: bool,
) -> list[Tensor]:
    layer = decoded(graph, eps, training, weight, bias)
    vectors = layer.named((weight, bias, v0, v1))
    dense = torch.contiguous_format
    read = [torch.empty_like(vectors[name], memory_format=dense) for name in layer.program.gradients]
    return [torch.empty_like(dense_layout(x)[0]), *read]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    keep_for_backward(ctx, inputs, output[1:])


def _differentiate(ctx: Any, gy: Tensor | None, *_: object) -> tuple[Any, ...]:
    x, weight, bias, v0, v1, samples, channels, count, *moving = ctx.saved_tensors
    graph, groups, eps, training = ctx.settings
    gradients: dict[str, Tensor] = {}
    if gy is not None:
        kept = [samples, channels, count]
        found = triton_backward(gy, x, weight, bias, v0, v1, kept, moving, graph, groups, eps, training)
        names = decoded(graph, eps, training, weight, bias).program.gradients
        gradients = dict(zip(("x", *names), found, strict=True))
    given = [gradients.get(name) for name in ("x", *PARAMETERS)]
    return (*given, [None] * len(moving), None, None, None, None)


triton_forward.register_autograd(_differentiate, setup_context=_keep)


def refuses_triton_operator(call: LayerCall) -> str | None:
    """Takes what the Triton kernels take, while torch compiles."""
    return _refuses(call, ("cuda",))


def refuses_forced_triton_operator(call: LayerCall) -> str | None:
    """The same, and CPU tensors where Triton interprets."""
    return _refuses(call, places())


def _refuses(call: LayerCall, devices: tuple[str, ...]) -> str | None:
    return no_operator_for(call) or unfit(call, devices) or _export_rows(call)[1]


def run_triton_operator(call: LayerCall) -> Result:
    """The layer as one operator in a graph that torch is compiling."""
    check_shapes(call)
    graph, eps, training, _, _ = program_settings(call)
    y, _, kept, _ = triton_forward(*in_float32(call), graph.encode(), call.groups, eps, training)
    moments = kept.detach()  # an operator's results all count as differentiable
    return y, tuple([moments[row] for row in _export_rows(call)[0]])


def _export_rows(call: LayerCall) -> tuple[tuple[int, ...], str | None]:
    channels = call.weight.shape[-1]
    return export_rows(*program_settings(call), channels, call.groups, call.x.dtype, call.x.device)


@asked_while_tracing
def export_rows(
    graph: Graph,
    eps: float,
    training: bool,
    weights: int,
    biases: int,
    channels: int,
    groups: int,
    dtype: torch.dtype,
    device: torch.device,
) -> tuple[tuple[int, ...], str | None]:
    """Where the operator puts each batch moment, and why it cannot run, if so."""
    if find_triton()[0] is None:
        return (), find_triton()[1]
    layer = layer_of(graph, eps, training, weights, biases)
    if isinstance(layer, str):
        return (), layer
    shape = (2, channels, *CHECKED_PLANE)
    for layout in (CHANNELS_FIRST, CHANNELS_LAST):
        reason = checked(layer, shape, dtype, device, layout, groups)
        if reason is not None:
            return (), reason
    return layer.program.export_rows, None
