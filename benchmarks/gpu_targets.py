"""Kernels compiled for GPUs that nobody here has: PTX and cubins by Triton, registers and spills by cuobjdump.

Nothing of it touches a device. Triton must not interpret: TRITON_INTERPRET is read when it is imported.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evonorm.graph import Graph
from evonorm.kernels.gpu.modules import load_kernels
from evonorm.kernels.gpu.program import Program, program_of
from evonorm.kernels.gpu.text import KernelText
from evonorm.kernels.gpu.tiles import Arrangement, Sizes, arrange

TARGETS = {
    "sm_80": ("cuda", 80, 32),
    "sm_90": ("cuda", 90, 32),
    "sm_100": ("cuda", 100, 32),
    "sm_120": ("cuda", 120, 32),
    "gfx942": ("hip", "gfx942", 64),
}
REGISTERS = {"cuda": 255, "hip": 512}  # that a thread can have
PROCESSORS = 108  # of an A100; the number of slices depends on it, no kernel does
CUDA_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
HIP_USAGE = {
    "registers": r"\.vgpr_count:\s*(\d+)",
    "spilled": r"\.(?:vgpr|sgpr)_spill_count:\s*(\d+)",
    "scratch": r"\.private_segment_fixed_size:\s*(\d+)",
}


@dataclass(frozen=True)
class Usage:
    """What one kernel needs of a thread. `spilled` are bytes of stack (CUDA) or registers and scratch (HIP)."""

    kernel: str
    registers: int
    spilled: int


def compile_kernel(function: Any, kernel: KernelText, run: Arrangement, dtype: str, target: str) -> Any:
    """What Triton makes of a kernel for a target.

    As its launcher does it, sizes of 1 become constants, and sizes that 16 divides are known to be so; pointers are.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names: list[str] = function.arg_names
    types, attributes, constants = {}, {}, {}
    told = dict(zip([name for name in names if name not in kernel.pointers], run.numbers, strict=False))
    for place, name in enumerate(names):
        if name in kernel.pointers:
            types[name] = f"*{dtype if name in ('x', 'gy', 'y', 'gx') else 'fp32'}"
        elif name in run.constants or told[name] == 1:
            types[name], constants[(place,)] = "constexpr", run.constants.get(name, 1)
        else:
            types[name] = "i32"
        if name in kernel.pointers or (types[name] == "i32" and told[name] % 16 == 0):
            attributes[(place,)] = [["tt.divisibility", 16]]
    source = ASTSource(function, types, constants, attributes)
    return triton.compile(source, target=GPUTarget(*TARGETS[target]), options=run.options)


def usage_of(compiled: Any, name: str) -> Usage:
    if "cubin" in compiled.asm:
        registers, stack, _, local = _cuda_usage(compiled.asm["cubin"])
        return Usage(name, registers, stack + local)
    found = {what: [int(n) for n in re.findall(p, compiled.asm["amdgcn"])] for what, p in HIP_USAGE.items()}
    return Usage(name, max(found["registers"]), sum(found["spilled"]) + sum(found["scratch"]))


def _cuda_usage(cubin: bytes) -> tuple[int, ...]:
    import triton.backends.nvidia

    tool = Path(str(triton.backends.nvidia.__file__)).parent / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True, check=True)  # noqa: S603
    match = CUDA_USAGE.search(done.stdout)
    if match is None:
        raise ValueError(f"cuobjdump says nothing about registers: {done.stdout}")
    return tuple(map(int, match.groups()))


@cache
def _loaded(program: Program) -> dict[str, Any]:
    return load_kernels(program)[0]


def compile_program(program: Program, shape: tuple[int, ...], layout: int, dtype: str, target: str) -> Iterator[Usage]:
    """Every kernel of a layer, forward and backward, as it would run at this shape."""
    sizes = Sizes.of(shape, layout, 32 if shape[1] % 32 == 0 else 1, PROCESSORS)
    for kernels in (program.forward, program.backward):
        tiling = sizes.tiling(kernels)
        for kernel in kernels:
            run = arrange(kernel, sizes, tiling)
            yield usage_of(compile_kernel(_loaded(program)[kernel.name], kernel, run, dtype, target), kernel.name)


def compile_layer(formula: str, shape: tuple[int, ...], layout: int, dtype: str, target: str) -> list[Usage]:
    return list(compile_program(program_of(Graph.parse(formula), 1e-5, True), shape, layout, dtype, target))
