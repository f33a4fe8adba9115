"""The kernels checked by themselves: at first use a small comparison with eager, on the user's own device.

None of our machines has a GPU. The interpreter and the compilers say that the kernels are right; only this says so of
the device in front of the user. A deviation, or an error of any kind, means plain torch and one warning.
"""

import warnings
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

import torch
from torch import Tensor

from evonorm.kernels.call import THIS_BATCH, LayerCall, MovingMoments
from evonorm.kernels.eager import run_eager
from evonorm.kernels.gpu.launch import launch_backward, launch_forward, sizes_of
from evonorm.kernels.gpu.prepared import TritonLayer
from evonorm.kernels.gpu.tiles import arrange
from evonorm.kernels.tensors import CHANNELS_FIRST, CHANNELS_LAST, dense_layout

BATCH = 2
LIMITS = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2}  # relative L2, of rounding with a margin
TIMES_EAGER = 10  # where eager itself is off, as next to a division by zero
SMALLEST_NORM = 1e-24
NOT_YET = "a CUDA graph is being captured, and this layer has not been checked; run it once before"


def deviation_of_call(layer: TritonLayer, call: LayerCall) -> str | None:
    """Why this layer must not run here, if the check says so. One lookup once it is known."""
    x = call.x
    key = (x.dtype, x.device, x.shape[1:], x.is_contiguous(), x.stride(1), call.groups)
    if key in layer.verdicts:
        return layer.verdicts[key]
    if x.numel() == 0:
        return None  # nothing to be wrong about, and other ranks wait
    if x.is_cuda and torch.cuda.is_current_stream_capturing():
        return NOT_YET
    dense, layout = dense_layout(x.detach())
    layer.verdicts[key] = checked(layer, dense.shape, dense.dtype, dense.device, layout, call.groups)
    return layer.verdicts[key]


def checked(
    layer: TritonLayer, shape: Sequence[int], dtype: torch.dtype, device: torch.device, layout: int, groups: int
) -> str | None:
    """As above for a shape. Shapes that run the very same compiled kernels share the verdict."""
    sample = check_shape(layer, shape, device, layout, groups)
    key = (dtype, device, layout, compiled_as(layer, sample, device, layout, groups))
    if key not in layer.verdicts:
        layer.verdicts[key] = apart(lambda: compare(layer, sample, dtype, device, layout, groups), device)
        if layer.verdicts[key] is not None:
            warn(layer, dtype, device, layout, str(layer.verdicts[key]))
    return layer.verdicts[key]


def apart(check: Callable[[], str | None], device: torch.device) -> str | None:
    """The check in a thread of its own, where no mode of the caller is on.

    Gradients may be off there, autocast on, and what is saved for backward counted, as torch's checkpointing does.
    """
    found: list[str | None] = []

    def run() -> None:
        try:
            found.append(check())
        except Exception as error:  # whatever a compiler or a driver throws, plain torch can still run the layer
            found.append(f"it failed on {device}: {type(error).__name__}: {error}".splitlines()[0])

    thread = Thread(target=run, name="evonorm check")
    thread.start()
    thread.join()
    return found[0] if found else "the check did not come to its end"


def check_shape(
    layer: TritonLayer, shape: Sequence[int], device: torch.device, layout: int, groups: int
) -> tuple[int, ...]:
    """Two samples of the call's channels, and of its plane as much as takes two turns of a loop."""
    x = torch.empty((BATCH, *shape[1:]), device="meta")
    blocks = [
        sizes_of(x, layout, groups, device).tiling(kernels).block_p
        for kernels in (layer.program.forward, layer.program.backward)
    ]
    plane = x[0, 0].numel()
    return (BATCH, shape[1], min(plane, max(blocks) * 3 // 2 + 1), 1)


def compiled_as(
    layer: TritonLayer, shape: tuple[int, ...], device: torch.device, layout: int, groups: int
) -> tuple[Any, ...]:
    """What is fixed when the kernels are compiled."""
    sizes, found = sizes_of(torch.empty(shape, device="meta"), layout, groups, device), []
    for kernels in (layer.program.forward, layer.program.backward):
        tiling = sizes.tiling(kernels)
        found += [tuple(arrange(each, sizes, tiling).constants.values()) for each in kernels]
    return tuple(found)


def compare(
    layer: TritonLayer, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, layout: int, groups: int
) -> str | None:
    """Values, moments and gradients against eager in float64; in words what is off, or None."""
    x, gy, vectors = check_inputs(layer, shape, dtype, device, layout)
    ours = kernels_results(layer, x, gy, vectors, layout, groups)
    exact = eager_results(layer, x, gy, vectors, groups, torch.float64)
    eager = eager_results(layer, x, gy, vectors, groups, None)
    for name, reference in exact.items():
        if not torch.isfinite(reference).all():
            continue  # float64 itself cannot say what would be right
        off, allowed = error(ours[name], reference), TIMES_EAGER * error(eager[name], reference)
        if not off <= max(LIMITS[dtype], allowed):
            return f"{name} is off by {off:.1e} of its size on {device}, eager by {allowed / TIMES_EAGER:.1e}"
    return None


def check_inputs(
    layer: TritonLayer, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, layout: int
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """x and gy, and the vectors in their order; the same numbers every time, and nobody else's random state."""
    generator = torch.Generator().manual_seed(0)

    def normal(*size: int) -> Tensor:
        return torch.randn(size, generator=generator)

    form = torch.channels_last if layout == CHANNELS_LAST else torch.contiguous_format
    x, gy = ((normal(*shape) * 1.5 + 0.3).to(device, dtype, memory_format=form) for _ in range(2))
    vectors = []
    for name in layer.order:
        size = shape[:2] if name in layer.per_sample else shape[1:2]
        noise = normal(*size) * 0.5
        vectors.append((noise.square() + 0.5 if name.startswith("moving") else noise + 1).to(device))
    return x, gy, vectors


def kernels_results(
    layer: TritonLayer, x: Tensor, gy: Tensor, vectors: list[Tensor], layout: int, groups: int
) -> dict[str, Tensor]:
    named = layer.named(vectors)
    y, kept = launch_forward(layer, x, named, layout, groups)
    gx, gradients = launch_backward(layer, x, gy, kept, named, layout, groups)
    moments = {f"batch moment {i}": kept[1][row] for i, row in enumerate(layer.program.export_rows)}
    found = {f"grad of {name}": g for name, g in zip(layer.order, gradients, strict=False) if g is not None}
    return {"y": y, **moments, "grad of x": gx, **found}


def eager_results(
    layer: TritonLayer, x: Tensor, gy: Tensor, vectors: list[Tensor], groups: int, dtype: torch.dtype | None
) -> dict[str, Tensor]:
    """The same by plain torch, in another precision if given; only what the kernels give, too."""
    x = x.detach().to(dtype or x.dtype).requires_grad_()
    wide = [each.to(dtype or each.dtype) for each in vectors]
    parameters = dict(zip(layer.order, wide, strict=True))
    read = {name: parameters[name].requires_grad_() for name in layer.program.gradients}
    moments = THIS_BATCH if layer.training else MovingMoments(tuple(wide[4:]))
    call = LayerCall(layer.graph, x, wide[0], wide[1], wide[2], wide[3], groups, layer.eps, moments)
    y, raw = run_eager(call)
    inputs = {"x": x, **read}
    found = torch.autograd.grad(y, list(inputs.values()), gy.to(y.dtype), allow_unused=True)
    gradients = [torch.zeros_like(i) if g is None else g for i, g in zip(inputs.values(), found, strict=True)]
    named = {f"grad of {name}": g for name, g in zip(inputs, gradients, strict=True)}
    return {"y": y.detach(), **{f"batch moment {i}": each for i, each in enumerate(raw)}, **named}


def error(found: Tensor, reference: Tensor) -> float:
    """The relative L2 error; NaN, which no bound holds, where anything is."""
    reference = reference.double()
    return float((found.double() - reference).norm() / reference.norm().clamp(min=SMALLEST_NORM))


def warn(layer: TritonLayer, dtype: torch.dtype, device: torch.device, layout: int, reason: str) -> None:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "the interpreter"
    form = "NCHW" if layout == CHANNELS_FIRST else "channels_last"
    warnings.warn(
        f"evonorm's Triton kernels are not used for {layer.graph} ({dtype}, {form}) on {name}: {reason}. Plain torch"
        " runs it instead, which is right but slower. Please report it with this line, your versions of torch and"
        f" triton, and the output of: evonorm show-kernel '{layer.graph}'",
        RuntimeWarning,
        stacklevel=2,
    )
