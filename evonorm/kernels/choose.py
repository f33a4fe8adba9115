"""Which kernel runs a call: the first of an ordered list that takes it. Plain torch is the last and takes every call.

`EVONORM_KERNEL` forces one: `eager`, `native` or `triton` (an error where it cannot run), `compile` (torch.compile of
eager), or `inductor`: as ever, but what torch compiles is plain torch, for Inductor to fuse, and not our operators.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

import torch

from evonorm.kernels.call import Kernel, LayerCall, Result
from evonorm.kernels.cpu.custom_op import refuses_operator, run_operator
from evonorm.kernels.cpu.native import refuses_native, run_native
from evonorm.kernels.eager import run_eager
from evonorm.kernels.gpu.layer import refuses_forced_triton, refuses_triton, run_triton
from evonorm.kernels.gpu.operator import refuses_forced_triton_operator, refuses_triton_operator, run_triton_operator
from evonorm.kernels.lean import refuses_lean, run_lean


@lru_cache(maxsize=1)
def compiled_eager() -> Callable[[LayerCall], Result]:
    """torch.compile of the reference; compiles once per graph and shape, which takes seconds to minutes."""
    return torch.compile(run_eager)


def takes_every_call(call: LayerCall) -> None:  # noqa: ARG001
    return None


NATIVE = Kernel("native", refuses_native, run_native)
OPERATOR = Kernel("operator", refuses_operator, run_operator)  # the native library as torch.compile sees it
TRITON = Kernel("triton", refuses_triton, run_triton)
TRITON_OPERATOR = Kernel("triton operator", refuses_triton_operator, run_triton_operator)
FORCED_TRITON = Kernel("triton", refuses_forced_triton, run_triton)  # also in the interpreter, which is for tests
FORCED_TRITON_OPERATOR = Kernel("triton operator", refuses_forced_triton_operator, run_triton_operator)
LEAN = Kernel("lean", refuses_lean, run_lean)  # what exporters see
EAGER = Kernel("eager", takes_every_call, run_eager)
COMPILE = Kernel("compile", takes_every_call, lambda call: compiled_eager()(call))
KERNELS: dict[str | None, tuple[Kernel, ...]] = {  # by EVONORM_KERNEL, in the order in which they are asked
    None: (NATIVE, OPERATOR, TRITON, TRITON_OPERATOR, LEAN, EAGER),
    "eager": (EAGER,),
    "native": (NATIVE, OPERATOR),
    "compile": (COMPILE,),
    "triton": (FORCED_TRITON, FORCED_TRITON_OPERATOR),
    "inductor": (NATIVE, TRITON, LEAN, EAGER),
}


def read_forced_kernel(environment: str | None) -> str | None:
    """The value of EVONORM_KERNEL, checked."""
    if not environment:
        return None
    if environment not in KERNELS:
        names = ", ".join(name for name in KERNELS if name)
        raise ValueError(f"EVONORM_KERNEL must be one of {names} or unset, got {environment!r}.")
    return environment


forced_kernel = read_forced_kernel(os.environ.get("EVONORM_KERNEL"))


@contextmanager
def forcing(kernel: str | None) -> Iterator[None]:
    """Inside it calls run as if EVONORM_KERNEL had this value; None is as if it were unset."""
    global forced_kernel
    before, forced_kernel = forced_kernel, read_forced_kernel(kernel)
    try:
        yield
    finally:
        forced_kernel = before


def run_layer(call: LayerCall) -> Result:
    """The layer on the best kernel for this call."""
    for kernel in KERNELS[forced_kernel]:
        if kernel.refuses(call) is None:
            return kernel.run(call)
    raise refused(why_not(call))


def kernel_for(call: LayerCall) -> Kernel:
    """The kernel that runs this call; TypeError if the forced one refuses it."""
    reasons, kernels = why_not(call), KERNELS[forced_kernel]
    if len(reasons) == len(kernels):
        raise refused(reasons)
    return kernels[len(reasons)]


def why_not(call: LayerCall) -> dict[str, str]:
    """The kernels that would come before the one that runs this call, and why each refuses it."""
    reasons: dict[str, str] = {}
    for kernel in KERNELS[forced_kernel]:
        reason = kernel.refuses(call)
        if reason is None:
            break
        reasons[kernel.name] = reason
    return reasons


def refused(reasons: dict[str, str]) -> TypeError:
    words = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    return TypeError(f"EVONORM_KERNEL={forced_kernel} refuses this call. {words}. Unset it to fall back to eager.")
