"""What a kernel that reads memory must know of tensors: how they lie, who watches them, that parameters are there."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.autograd import forward_ad

from evonorm.kernels.call import LayerCall, check_shapes
from evonorm.kernels.plan.values import PARAMETERS

PLAIN = (Tensor, torch.nn.Parameter)
# torch.jit.trace, the old ONNX exporter and make_fx would keep uninitialised memory in the layer's place; fake and
# distributed tensors have no memory of their own at all.
WATCHED = "something traces or stands in for these tensors and would not see what the kernel writes"
CHANNELS_FIRST, CHANNELS_LAST = 0, 1
LAST_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def dense_layout(x: Tensor) -> tuple[Tensor, int]:
    """x as it lies if it is dense, else a dense copy; and which of the two layouts it has.

    A tensor whose negation is only noted (torch's neg bit) is negated first: kernels read memory.
    """
    x = x.resolve_neg()
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
    gy = gy.resolve_neg()
    if layout == CHANNELS_FIRST:
        return gy.contiguous()
    return gy.contiguous(memory_format=LAST_FORMATS[gy.ndim])


def transformed() -> str | None:
    """Why no kernel of ours can run here: a transform would need its derivative in another way."""
    if torch._C._are_functorch_transforms_active():
        return "a functional transform (torch.func) is active"
    if forward_ad._current_level >= 0:
        return "forward-mode differentiation is active"
    return None


def watched(call: LayerCall) -> str | None:
    """Whether somebody would not see what is written to memory."""
    if torch._C._get_tracing_state() is not None or torch._C._len_torch_dispatch_stack() > 0:
        return WATCHED
    for each in call[1:6]:  # x and the parameters
        if each is not None and type(each) not in PLAIN:
            return WATCHED
    return None


def read_vectors(call: LayerCall, training: bool, wanted: Sequence[int]) -> list[Tensor | None]:
    """(weight, bias, v0, v1, moving ...) as kernels read them: fp32 in raw memory, which must be there and fit."""
    channels = call.x.shape[1]
    vectors: list[Tensor | None] = [call.weight, call.bias, call.v0, call.v1]
    if not training:
        vectors += call.moving
    for i, vector in enumerate(vectors):
        if vector is None:
            continue
        if vector.ndim != 1 or vector.numel() != channels:
            check_shapes(call)
        if vector.dtype != torch.float32 or not vector.is_contiguous() or vector.is_neg():
            vectors[i] = vector.float().resolve_neg().contiguous()
    for i in wanted:
        if i >= len(vectors) or vectors[i] is None:
            name = PARAMETERS[i] if i < len(PARAMETERS) else f"moving[{i - len(PARAMETERS)}]"
            raise ValueError(f"the layer {call.graph} reads {name}, but it was not given.")
    return vectors
