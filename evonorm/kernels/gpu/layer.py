"""Runs a graph in Triton kernels: one autograd node that keeps x and small rows, whatever the graph."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.profiler import record_function

from evonorm.kernels.call import THIS_BATCH, LayerCall, MovingMoments, Result, SyncedMoments
from evonorm.kernels.eager import eager_gradients
from evonorm.kernels.gpu.first_use import deviation_of_call
from evonorm.kernels.gpu.launch import Kept, launch_backward, launch_forward
from evonorm.kernels.gpu.modules import find_triton, interprets
from evonorm.kernels.gpu.prepared import TritonLayer, prepared_layer
from evonorm.kernels.tensors import dense_layout, like_layout, read_vectors, transformed, watched

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
LARGEST_SAMPLE = 2**31  # elements; places inside a sample are counted in 32 bits


class FusedTritonLayer(torch.autograd.Function):
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
        layer: TritonLayer,
        layout: int,
        groups: int,
        synced: SyncedMoments | None,
        exports: list[Tensor],
    ) -> Tensor:
        vectors = layer.named((weight, bias, v0, v1, *moving))
        y, kept = launch_forward(layer, x, vectors, layout, groups, synced)
        exports.append(kept[1])
        ctx.save_for_backward(x, weight, bias, v0, v1, *kept, *moving)
        ctx.settings = layer, layout, groups, synced
        return y

    @staticmethod
    def backward(ctx: Any, gy: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, v0, v1, samples, channels, count, *moving = ctx.saved_tensors
        layer, layout, groups, synced = ctx.settings
        if torch.is_grad_enabled():  # create_graph: the gradient itself is to be differentiated
            moments = (synced or THIS_BATCH) if layer.training else MovingMoments(tuple(moving))
            call = LayerCall(layer.graph, x, weight, bias, v0, v1, groups, layer.eps, moments)
            return (*eager_gradients(call, ctx.needs_input_grad[:5], gy), *[None] * 6)
        kept: Kept = samples, channels, count
        vectors = layer.named((weight, bias, v0, v1, *moving))
        gx, gradients = launch_backward(layer, x, like_layout(gy, layout), kept, vectors, layout, groups, synced)
        return (gx, *gradients, *[None] * 6)


def unfit(call: LayerCall, devices: Sequence[str]) -> str | None:
    """What about the tensors, or around them, the kernels cannot work with."""
    x = call.x
    if x.device.type not in devices or x.dtype not in DTYPES:
        return f"it runs fp32, fp16 and bf16 tensors on a GPU, got {x.dtype} on {x.device}"
    if x.numel() == 0 and not isinstance(call.moments, SyncedMoments):
        return "the input is empty"
    if x.numel() and x.numel() // x.shape[0] >= LARGEST_SAMPLE:
        return "a sample has 2**31 elements or more"
    for each in call[2:6]:  # the parameters
        if each is not None and each.device != x.device:
            return f"x is on {x.device}, and a parameter on {each.device}"
    return transformed()


def places() -> tuple[str, ...]:
    """Where kernels run if somebody insists: on a GPU, and in Triton's interpreter on a CPU."""
    return ("cuda", "cpu") if interprets() else ("cuda",)


# What torch.compiler.assume_constant_result sets; calling it would import all of dynamo, which takes seconds.
places._dynamo_marked_constant = True  # type: ignore[attr-defined]


def refuses_triton(call: LayerCall) -> str | None:
    """Takes plain tensors on a GPU that nobody watches, unless the check at first use found a deviation."""
    return _refuses(call, ("cuda",))


def refuses_forced_triton(call: LayerCall) -> str | None:
    """The same, and CPU tensors where Triton interprets."""
    return _refuses(call, places())


def _refuses(call: LayerCall, devices: Sequence[str]) -> str | None:
    if torch.compiler.is_compiling():
        return "torch is compiling or exporting, and sees operators only"
    reason = unfit(call, devices) or watched(call) or find_triton()[1]
    if reason:
        return reason
    layer = prepared_layer(call)
    if isinstance(layer, str):
        return layer
    return deviation_of_call(layer, call)


def run_triton(call: LayerCall) -> Result:
    """The call in Triton kernels, for a dense or strided tensor."""
    layer = prepared_layer(call)
    assert isinstance(layer, TritonLayer)
    weight, bias, v0, v1, *moving = vectors = read_vectors(call, layer.training, layer.parameters)
    x, layout = dense_layout(call.x)
    synced = call.moments if isinstance(call.moments, SyncedMoments) else None
    differentiated = [x, *(each for each in (weight, bias, v0, v1) if each is not None)]
    if torch.is_grad_enabled() and any(each.requires_grad for each in differentiated):
        exports: list[Tensor] = []
        y = FusedTritonLayer.apply(x, weight, bias, v0, v1, moving, layer, layout, call.groups, synced, exports)
        rows = exports[0]
    else:
        with record_function("evonorm::layer"):
            y, (_, rows, _) = launch_forward(layer, x, layer.named(vectors), layout, call.groups, synced)
    return y, tuple([rows[row] for row in layer.program.export_rows])
