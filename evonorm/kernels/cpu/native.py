"""Runs a graph in the native kernel: one autograd node that keeps x and small rows, whatever the graph."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.profiler import record_function

from evonorm.kernels.call import THIS_BATCH, LayerCall, MovingMoments, Result, SyncedMoments
from evonorm.kernels.cpu.library import PITCH, PreparedLayer, prepared_layer, why_not_native
from evonorm.kernels.eager import eager_gradients
from evonorm.kernels.synced import Exchange
from evonorm.kernels.tensors import dense_layout, like_layout, read_vectors, transformed, watched

DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}


def sizes(x: Tensor) -> tuple[int, int, int]:
    """Batch, channels and plane as the library counts; an empty input, which only exchanges, is an empty batch."""
    elements, channels = x.numel(), x.shape[1]
    return (x.shape[0], channels, elements // (x.shape[0] * channels)) if elements else (0, channels, 1)


def addresses(vectors: Sequence[Tensor | None], wanted: Sequence[int], batch: int) -> tuple[int, ...]:
    """Where parameters or gradients lie. The library refuses null, which rows of no samples have; 1 is never read."""
    found = tuple([vectors[i].data_ptr() for i in wanted])  # type: ignore[union-attr]
    return found if batch else tuple([each or 1 for each in found])


def launch_forward(
    layer: PreparedLayer,
    x: Tensor,
    vectors: Sequence[Tensor | None],
    layout: int,
    groups: int,
    exchange: Exchange | None = None,
    *,
    keep: bool,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """y, the small rows kept for backward, and the raw batch moments one after the other."""
    batch, channels, plane = sizes(x)
    y = torch.empty_like(x)
    floats = layer.saved_floats(batch, channels) if keep else 0
    saved = torch.empty(floats, dtype=torch.float32) if floats else None
    exports = torch.empty(layer.exports * channels, dtype=torch.float32) if layer.exports else None
    layer.library.forward(
        layer.handle,
        x.data_ptr(),
        y.data_ptr(),
        0 if saved is None else saved.data_ptr(),
        0 if exports is None else exports.data_ptr(),
        addresses(vectors, layer.parameters, batch),
        batch,
        channels,
        plane,
        groups,
        layout,
        DTYPES[x.dtype],
        torch.get_num_threads(),
        *(() if exchange is None else (exchange.moments,)),
    )
    return y, saved, exports


def launch_backward(
    layer: PreparedLayer,
    x: Tensor,
    gy: Tensor,
    saved: Tensor | None,
    vectors: Sequence[Tensor | None],
    layout: int,
    groups: int,
    exchange: Exchange | None = None,
) -> tuple[Tensor, list[Tensor | None]]:
    """The gradients of x and of (weight, bias, v0, v1); None where the layer does not read one."""
    gradients: list[Tensor | None] = [None, None, None, None]
    for i in layer.gradients:
        gradients[i] = torch.empty_like(vectors[i]) if x.numel() else torch.zeros_like(vectors[i])  # type: ignore[arg-type]
    grad_x = torch.empty_like(x) if layer.writes_grad_x else torch.zeros_like(x)
    batch, channels, plane = sizes(x)
    layer.library.backward(
        layer.handle,
        x.data_ptr(),
        gy.data_ptr(),
        grad_x.data_ptr(),
        0 if saved is None else saved.data_ptr(),
        addresses(vectors, layer.parameters, batch),
        addresses(gradients, layer.gradients, batch),
        batch,
        channels,
        plane,
        groups,
        layout,
        DTYPES[x.dtype],
        torch.get_num_threads(),
        *(() if exchange is None else (exchange.adjoints, exchange.everywhere)),
    )
    return grad_x, gradients


class FusedLayer(torch.autograd.Function):
    """One layer as one autograd node. The raw batch moments leave through `exports`: autograd has no use for them."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        v0: Tensor | None,
        v1: Tensor | None,
        moving: list[Tensor],
        layer: PreparedLayer,
        layout: int,
        groups: int,
        exchange: Exchange | None,
        exports: list[Tensor | None],
    ) -> Tensor:
        vectors = (weight, bias, v0, v1, *moving)
        y, saved, exported = launch_forward(layer, x, vectors, layout, groups, exchange, keep=True)
        exports.append(exported)
        ctx.save_for_backward(x, weight, bias, v0, v1, saved, *moving)
        ctx.settings = layer, layout, groups, exchange
        return y

    @staticmethod
    def backward(ctx: Any, gy: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, v0, v1, saved, *moving = ctx.saved_tensors
        layer, layout, groups, exchange = ctx.settings
        if torch.is_grad_enabled():  # create_graph: the gradient itself is to be differentiated
            training = THIS_BATCH if exchange is None else exchange.synced
            moments = training if layer.training else MovingMoments(tuple(moving))
            call = LayerCall(layer.graph, x, weight, bias, v0, v1, groups, layer.eps, moments)
            return (*eager_gradients(call, ctx.needs_input_grad[:5], gy), *[None] * 6)
        vectors = (weight, bias, v0, v1, *moving)
        grad_x, gradients = launch_backward(layer, x, like_layout(gy, layout), saved, vectors, layout, groups, exchange)
        return (grad_x, *gradients, *[None] * 6)


def refuses_native(call: LayerCall) -> str | None:
    """Takes plain CPU tensors that nobody watches, of graphs within the library's limits."""
    if torch.compiler.is_compiling():
        return "torch is compiling or exporting, and sees operators only"
    reason = unfit(call)
    if reason is not None:
        return reason
    reason = watched(call)
    if reason is not None:
        return reason
    return why_not_native() if prepared_layer(call) is None else None


def unfit(call: LayerCall) -> str | None:
    """What about the tensors, or around them, the library cannot work with."""
    x = call.x
    if not x.is_cpu or x.dtype not in DTYPES:
        return f"it runs fp32, fp16 and bf16 tensors on a CPU, got {x.dtype} on {x.device}"
    if x.numel() == 0 and not isinstance(call.moments, SyncedMoments):
        return "the input is empty"
    for each in call[2:6]:  # the parameters
        if each is not None and not each.is_cpu:
            return f"it runs on a CPU, and a parameter is on {each.device}"
    return transformed()


def run_native(call: LayerCall) -> Result:
    """The call in the library, for a dense or strided tensor."""
    layer = prepared_layer(call)
    assert layer is not None
    weight, bias, v0, v1, *moving = vectors = read_vectors(call, layer.training, layer.parameters)
    x, layout = dense_layout(call.x)
    exchange = exchange_of(call)
    if torch.is_grad_enabled() and (
        x.requires_grad
        or call.weight.requires_grad
        or call.bias.requires_grad
        or (v0 is not None and v0.requires_grad)
        or (v1 is not None and v1.requires_grad)
    ):
        sink: list[Tensor | None] = []
        y = FusedLayer.apply(x, weight, bias, v0, v1, moving, layer, layout, call.groups, exchange, sink)
        exports = sink[0]
    elif torch._C._autograd._profiler_enabled():  # without an autograd node nothing else would tell it of the layer
        with record_function("evonorm::layer"):
            y, _, exports = launch_forward(layer, x, vectors, layout, call.groups, keep=False)
    else:
        y, _, exports = launch_forward(layer, x, vectors, layout, call.groups, exchange, keep=False)
    if exports is None:
        return y, ()
    if layer.export_rows == (0,):
        return y, (exports,)
    rows = exports.view(layer.exports, -1).unbind()
    return y, tuple([rows[row] for row in layer.export_rows])


def exchange_of(call: LayerCall) -> Exchange | None:
    """The other ranks, where moments are theirs too."""
    if not isinstance(call.moments, SyncedMoments):
        return None
    return Exchange(call.moments, (call.x.shape[1] + PITCH - 1) // PITCH * PITCH)
