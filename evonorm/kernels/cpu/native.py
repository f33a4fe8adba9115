"""Runs a graph in the native kernel: one autograd node that keeps x and small rows, whatever the graph."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from evonorm.graph import Graph
from evonorm.kernels.cpu.library import PreparedLayer
from evonorm.kernels.eager import run_eager

DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
VECTOR_NAMES = ("weight", "bias", "v0", "v1")
CHANNELS_FIRST, CHANNELS_LAST = 0, 1
LAST_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def dense_layout(x: Tensor) -> tuple[Tensor, int]:
    """x as it lies if it is dense, else a dense copy; and which of the two layouts it has."""
    if x.is_contiguous():
        return x, CHANNELS_FIRST
    last = LAST_FORMATS.get(x.ndim)
    if last is None:
        return x.contiguous(), CHANNELS_FIRST
    if x.is_contiguous(memory_format=last):
        return x, CHANNELS_LAST
    if x.stride(1) == 1:  # cut from a channels-last tensor
        return x.contiguous(memory_format=last), CHANNELS_LAST
    return x.contiguous(), CHANNELS_FIRST


def like_layout(gy: Tensor, layout: int) -> Tensor:
    """gy in the layout of x: autograd may bring it expanded or in the other one."""
    if layout == CHANNELS_FIRST:
        return gy.contiguous()
    return gy.contiguous(memory_format=LAST_FORMATS[gy.ndim])


def launch_forward(
    layer: PreparedLayer, x: Tensor, vectors: Sequence[Tensor | None], layout: int, groups: int, keep: bool
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """y, the small rows kept for backward, and the raw batch moments one after the other."""
    shape = x.shape
    batch, channels = shape[0], shape[1]
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
        tuple([vectors[i].data_ptr() for i in layer.parameters]),  # type: ignore[union-attr]
        batch,
        channels,
        x.numel() // (batch * channels),
        groups,
        layout,
        DTYPES[x.dtype],
        torch.get_num_threads(),
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
) -> tuple[Tensor, list[Tensor | None]]:
    """The gradients of x and of (weight, bias, v0, v1); None where the layer does not read one."""
    gradients: list[Tensor | None] = [None, None, None, None]
    for i in layer.gradients:
        gradients[i] = torch.empty_like(vectors[i])  # type: ignore[arg-type]
    grad_x = torch.empty_like(x) if layer.writes_grad_x else torch.zeros_like(x)
    shape = x.shape
    batch, channels = shape[0], shape[1]
    layer.library.backward(
        layer.handle,
        x.data_ptr(),
        gy.data_ptr(),
        grad_x.data_ptr(),
        0 if saved is None else saved.data_ptr(),
        tuple([vectors[i].data_ptr() for i in layer.parameters]),  # type: ignore[union-attr]
        tuple([gradients[i].data_ptr() for i in layer.gradients]),  # type: ignore[union-attr]
        batch,
        channels,
        x.numel() // (batch * channels),
        groups,
        layout,
        DTYPES[x.dtype],
        torch.get_num_threads(),
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
        moving: tuple[Tensor, ...],
        layer: PreparedLayer,
        layout: int,
        groups: int,
        eps: float,
        training: bool,
        exports: list[Tensor | None],
    ) -> Tensor:
        y, saved, exported = launch_forward(layer, x, (weight, bias, v0, v1, *moving), layout, groups, keep=True)
        exports.append(exported)
        ctx.save_for_backward(x, weight, bias, v0, v1, saved, *moving)
        ctx.settings = layer, layout, groups, eps, training
        return y

    @staticmethod
    def backward(ctx: Any, gy: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, v0, v1, saved, *moving = ctx.saved_tensors
        layer, layout, groups, eps, training = ctx.settings
        if torch.is_grad_enabled():  # create_graph: the gradient itself is to be differentiated
            inputs = (x, weight, bias, v0, v1)
            wanted = ctx.needs_input_grad[:5]
            gradients = eager_gradients(layer.graph, inputs, wanted, gy, groups, eps, None if training else moving)
            return (*gradients, *[None] * 7)
        vectors = (weight, bias, v0, v1, *moving)
        grad_x, gradients = launch_backward(layer, x, like_layout(gy, layout), saved, vectors, layout, groups)
        return (grad_x, *gradients, None, None, None, None, None, None, None)


def eager_gradients(
    graph: Graph,
    inputs: tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None],
    wanted: Sequence[bool],
    gy: Tensor,
    groups: int,
    eps: float,
    moving: Sequence[Tensor] | None,
) -> list[Tensor | None]:
    """The same gradients through torch's own operations, differentiable once more."""
    y, _ = run_eager(graph, *inputs, groups=groups, eps=eps, moving=moving)
    asked = [each for each, want in zip(inputs, wanted, strict=True) if want and each is not None]
    found = iter(torch.autograd.grad(y, asked, gy, create_graph=True, allow_unused=True))
    return [next(found) if want and each is not None else None for each, want in zip(inputs, wanted, strict=True)]


def check_vectors(layer: PreparedLayer, x: Tensor, vectors: Sequence[Tensor | None]) -> None:
    """The kernel reads raw memory: what it reads must be there, C numbers each."""
    channels = x.shape[1]
    for vector in vectors:
        if vector is not None and (vector.ndim != 1 or vector.shape[0] != channels):
            raise ValueError(
                f"the input has {channels} channels, but a parameter has shape {tuple(vector.shape)}."
                f" Parameters are ({channels},) here."
            )
    for i in layer.parameters:
        if i >= len(vectors) or vectors[i] is None:
            name = VECTOR_NAMES[i] if i < len(VECTOR_NAMES) else f"moving[{i - len(VECTOR_NAMES)}]"
            raise ValueError(f"the layer {layer.graph} reads {name}, but it was not given.")


def run_native(
    layer: PreparedLayer,
    x: Tensor,
    vectors: tuple[Tensor | None, ...],
    groups: int,
    eps: float,
    moving: Sequence[Tensor] | None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """As `run_eager`, for a dense or strided CPU tensor of fp32, fp16 or bf16; vectors are (weight, bias, v0, v1)."""
    moving_vectors = () if moving is None else tuple([_single_precision(each) for each in moving])
    vectors = tuple([None if each is None else _single_precision(each) for each in vectors])
    check_vectors(layer, x, (*vectors, *moving_vectors))
    x, layout = dense_layout(x)
    if torch.is_grad_enabled() and (x.requires_grad or _any_requires_grad(vectors)):
        sink: list[Tensor | None] = []
        y = FusedLayer.apply(x, *vectors, moving_vectors, layer, layout, groups, eps, moving is None, sink)
        exports = sink[0]
    else:
        y, _, exports = launch_forward(layer, x, (*vectors, *moving_vectors), layout, groups, keep=False)
    if exports is None:
        return y, ()
    if layer.export_rows == (0,):
        return y, (exports,)
    rows = exports.view(layer.exports, -1).unbind()
    return y, tuple([rows[row] for row in layer.export_rows])


def _any_requires_grad(vectors: Sequence[Tensor | None]) -> bool:
    return any(each is not None and each.requires_grad for each in vectors)


def _single_precision(vector: Tensor) -> Tensor:
    if vector.dtype != torch.float32 or not vector.is_contiguous():
        return vector.float().contiguous()
    return vector
