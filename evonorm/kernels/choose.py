"""Which kernel runs a layer: native on a CPU in fp32, fp16 or bf16, eager for everything else.

`EVONORM_KERNEL` forces one: `eager`, `native` (an error where it cannot run) or `compile` (torch.compile of eager).
"""

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from evonorm.graph import Graph
from evonorm.kernels.cpu.custom_op import layer_forward
from evonorm.kernels.cpu.library import find_library, prepared_layer
from evonorm.kernels.cpu.native import DTYPES, run_native
from evonorm.kernels.eager import run_eager

KERNELS = ("eager", "native", "compile")
PLAIN = (Tensor, torch.nn.Parameter)


def read_forced_kernel(environment: str | None) -> str | None:
    """The value of EVONORM_KERNEL, checked."""
    if not environment:
        return None
    if environment not in KERNELS:
        raise ValueError(f"EVONORM_KERNEL must be one of {', '.join(KERNELS)} or unset, got {environment!r}.")
    return environment


forced_kernel = read_forced_kernel(os.environ.get("EVONORM_KERNEL"))


def run_layer(
    graph: Graph,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    v0: Tensor | None,
    v1: Tensor | None,
    *,
    groups: int,
    eps: float,
    moving: Sequence[Tensor] | None = None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The layer on the best kernel for this input; arguments and results as in `run_eager`."""
    if forced_kernel == "eager":
        return run_eager(graph, x, weight, bias, v0, v1, groups=groups, eps=eps, moving=moving)
    if forced_kernel == "compile":
        return compiled_eager()(graph, x, weight, bias, v0, v1, groups=groups, eps=eps, moving=moving)
    vectors = (weight, bias, v0, v1)
    if not fits_native(x, vectors):
        if forced_kernel == "native":
            raise TypeError(
                f"EVONORM_KERNEL=native runs fp32, fp16 and bf16 tensors on a CPU, got {x.dtype} on {x.device}."
                " Unset it to fall back to eager."
            )
        return run_eager(graph, x, weight, bias, v0, v1, groups=groups, eps=eps, moving=moving)
    if torch.compiler.is_compiling():
        return run_operator(graph, x, vectors, groups, eps, moving)
    if is_watched((x, *vectors)):
        if forced_kernel == "native":
            raise TypeError(
                "EVONORM_KERNEL=native, but something traces or stands in for these tensors and would not see what the"
                " kernel writes. Unset it to fall back to eager."
            )
        return run_eager(graph, x, weight, bias, v0, v1, groups=groups, eps=eps, moving=moving)
    layer = prepared_layer(graph, eps, moving is None)
    if layer is None:
        if forced_kernel == "native":
            raise RuntimeError(f"EVONORM_KERNEL=native, but the native kernel cannot run this: {why_not_native()}.")
        return run_eager(graph, x, weight, bias, v0, v1, groups=groups, eps=eps, moving=moving)
    return run_native(layer, x, vectors, groups, eps, moving)


def run_operator(
    graph: Graph,
    x: Tensor,
    vectors: tuple[Tensor, Tensor, Tensor | None, Tensor | None],
    groups: int,
    eps: float,
    moving: Sequence[Tensor] | None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The layer as one operator in a graph that torch is compiling or exporting."""
    rows = native_export_rows(graph, eps, moving is None)
    if rows is None:
        return run_eager(graph, x, *vectors, groups=groups, eps=eps, moving=moving)
    weight, bias, v0, v1 = [None if each is None else each.float() for each in vectors]
    assert weight is not None
    assert bias is not None
    wide_moving = [] if moving is None else [each.float() for each in moving]
    y, _, exports = layer_forward(
        x, weight, bias, v0, v1, wide_moving, graph.encode(), groups, eps, training=moving is None
    )
    moments = exports.detach()  # an operator's results all count as differentiable
    return y, tuple([moments[row] for row in rows])


def native_export_rows(graph: Graph, eps: float, training: bool) -> tuple[int, ...] | None:
    """Where the operator puts each batch moment; None if it cannot run this layer. Asked while tracing, not traced."""
    layer = prepared_layer(graph, eps, training)
    return None if layer is None else layer.export_rows


# What torch.compiler.assume_constant_result sets; calling it would import all of dynamo, which takes seconds.
native_export_rows._dynamo_marked_constant = True  # type: ignore[attr-defined]


def fits_native(x: Tensor, vectors: Sequence[Tensor | None]) -> bool:
    """Whether the native kernel takes this input: plain CPU tensors, not empty, no functional transform around."""
    return (
        x.is_cpu
        and x.dtype in DTYPES
        and x.numel() > 0
        and all(each is None or each.is_cpu for each in vectors)
        and not torch._C._are_functorch_transforms_active()
    )


def is_watched(tensors: Sequence[Tensor | None]) -> bool:
    """Whether a tracer, a dispatch mode or a tensor subclass is about: what goes through raw pointers they miss.

    torch.jit.trace, the old ONNX exporter and make_fx would keep uninitialised memory in the layer's place, fake and
    distributed tensors have no memory of their own at all.
    """
    return (
        torch._C._get_tracing_state() is not None
        or torch._C._len_torch_dispatch_stack() > 0
        or any(each is not None and type(each) not in PLAIN for each in tensors)
    )


def why_not_native() -> str:
    """The library's own reason, or the only other one."""
    return find_library()[1] or "the graph is beyond the kernel's limits"


@lru_cache(maxsize=1)
def compiled_eager() -> Callable[..., Any]:
    """torch.compile of the reference; compiles once per graph and shape, which takes seconds to minutes."""
    return torch.compile(run_eager)
