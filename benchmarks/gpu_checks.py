"""What can be known of the Triton kernels without a GPU: the tables of docs/gpu.md.

python -m benchmarks.gpu_checks values              # in the interpreter, against eager in float64
python -m benchmarks.gpu_checks targets [TARGET..]  # compiled for GPUs: registers and spills
python -m benchmarks.gpu_checks traffic [LAYER..]   # tensors that are loaded and stored, beside Inductor's plan
"""

import os
import sys
import time
from collections.abc import Iterator

if sys.argv[1:2] == ["values"]:
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported
else:
    os.environ.pop("TRITON_INTERPRET", None)

import numpy as np
import torch

from benchmarks.gpu_targets import REGISTERS, TARGETS, Usage, compile_layer
from benchmarks.inductor_plan import inductor_plan
from evonorm.graph import CATALOG, Graph, sample_graph
from evonorm.kernels import LayerCall, run_eager
from evonorm.kernels.gpu.layer import run_triton
from evonorm.kernels.gpu.program import program_of, traffic
from evonorm.kernels.plan.values import NoInstructionError
from evonorm.kernels.tensors import CHANNELS_LAST

SHAPES = (((2, 6, 3, 7), 3, False), ((2, 6, 7, 3), 2, True), ((3, 5, 3, 3), 5, True), ((2, 4, 11), 2, False))
RANDOM_GRAPHS = 100
TARGET_SHAPE = (64, 256, 28, 28)
TRAFFIC_LAYERS = ("bn-relu", "gn-silu", *(f"evonorm-{name}" for name in ("b0", "b1", "b2", "s0", "s1", "s2")))
SMALLEST_NORM = 1e-6  # smaller ones are zero but for rounding, and have an error of that size


def named_graphs() -> Iterator[tuple[str, Graph]]:
    """Every layer of the catalog that has a plan."""
    for name, entry in CATALOG.items():
        graph = None if entry.formula is None else Graph.parse(entry.formula)
        try:
            if graph is not None and program_of(graph, 1e-5, True):
                yield name, graph
        except NoInstructionError:
            print(f"{name}: runs on plain torch")


def largest_errors(graph: Graph, shape: tuple[int, ...], groups: int, last: bool, seed: int) -> tuple[float, float]:
    """Of the kernels and of fp32 eager, over y, moments and gradients, each relative to its size; NaN: no verdict."""
    draw = torch.Generator().manual_seed(seed)
    form = torch.channels_last if last else torch.contiguous_format
    x = (torch.randn(shape, generator=draw) * 1.5 + 0.3).to(memory_format=form)
    gy, vectors = torch.randn(shape, generator=draw), torch.randn(4, shape[1], generator=draw) * 0.5 + 1

    def results(run: object, dtype: torch.dtype) -> list[torch.Tensor]:
        leaves = [each.detach().to(dtype).requires_grad_() for each in (x, *vectors)]
        y, moments = run(LayerCall(graph, *leaves, groups, 1e-5))  # type: ignore[operator]
        found = torch.autograd.grad(y, leaves, gy.to(dtype), allow_unused=True, materialize_grads=True)
        return [y.detach(), *moments, *found]

    exact = results(run_eager, torch.float64)
    if not all(torch.isfinite(each).all() and each.abs().max() < 1e7 for each in exact):
        return float("nan"), float("nan")
    pairs = [results(run, torch.float32) for run in (run_triton, run_eager)]
    ours, eager = ([_error(a, b) for a, b in zip(found, exact, strict=True)] for found in pairs)
    return max(ours), max(eager)


def _error(found: torch.Tensor, exact: torch.Tensor) -> float:
    return float((found.double() - exact).norm() / exact.norm().clamp(min=SMALLEST_NORM))


def print_values() -> None:
    rng, start = np.random.default_rng(2026), time.perf_counter()
    graphs = {name: graph for name, graph in named_graphs()}  # noqa: C416 (it reads better here)
    rows = [(name, *largest_errors(graph, *shape, 0)) for name, graph in graphs.items() for shape in SHAPES]
    print(f"| {'layers':30} | cases | median | 99 % | largest | of fp32 eager |", flush=True)
    _print_row("every named layer", len(graphs), rows)
    random: list[tuple[str, float, float]] = []
    while len(random) < RANDOM_GRAPHS:
        graph = sample_graph(rng)
        if graph.reads("x"):
            case = (len(random), largest_errors(graph, *SHAPES[len(random) % len(SHAPES)], len(random)))
            random.append((str(graph), *case[1]))
    _print_row("random graphs", len(random), random)
    print(f"{time.perf_counter() - start:.0f} s by the clock")


def _print_row(what: str, count: int, rows: list[tuple[str, float, float]]) -> None:
    told = [row for row in rows if row[1] == row[1]]
    ours = np.array([row[1] for row in told])
    worst = max(told, key=lambda row: row[1])
    figures = f"{np.median(ours):.1e} | {np.quantile(ours, 0.99):.1e} | {worst[1]:.1e} | {worst[2]:.1e}"
    print(f"| {count} {what} | {len(told)} of {len(rows)} | {figures} | worst: {worst[0]}", flush=True)
    beyond = [row for row in told if row[1] > max(1e-4, 5 * row[2])]
    print(f"  off by more than 1e-4 and five times eager: {len(beyond)}", *beyond, sep="\n  ", flush=True)


def print_targets(targets: list[str]) -> None:
    print(f"{TARGET_SHAPE}, channels_last, fp16; registers of a thread, most in any kernel of the layer (kernel)")
    for target in targets:
        start, worst, kernels, spilling = time.perf_counter(), Usage("", 0, 0), 0, []
        for name, graph in named_graphs():
            found = compile_layer(str(graph), TARGET_SHAPE, CHANNELS_LAST, "fp16", target)
            most = max(found, key=lambda each: each.registers)
            kernels, worst = kernels + len(found), max(worst, most, key=lambda each: each.registers)
            spilling += [(name, each.kernel, each.spilled) for each in found if each.spilled]
            if name in TRAFFIC_LAYERS:
                print(f"  {target} {name:12s} {most.registers} ({most.kernel})", flush=True)
        limit = REGISTERS[str(TARGETS[target][0])]
        print(
            f"{target}: {kernels} kernels, most registers {worst.registers} of {limit}, spilling: {spilling or 'none'},"
            f" {time.perf_counter() - start:.0f} s by the clock",
            flush=True,
        )


def print_traffic(layers: list[str]) -> None:
    print("| layer | ours forward | ours backward | Inductor forward | Inductor backward | (NHWC, fp16)")
    for name in layers:
        graph = Graph.parse(str(CATALOG[name].formula))
        program = program_of(graph, 1e-5, True)
        ours = [
            f"{len(kernels)} launches; {loads} + {stores}"
            for kernels in (program.forward, program.backward)
            for loads, stores in [traffic(kernels)]
        ]
        print(f"| {name} | {' | '.join(ours)} | {' | '.join(inductor_plan(graph, TARGET_SHAPE))} |", flush=True)


def main() -> None:
    what, *rest = sys.argv[1:] or [""]
    if what == "values":
        print_values()
    elif what == "targets":
        print_targets(rest or ["sm_80", "sm_90", "sm_100", "gfx942"])
    elif what == "traffic":
        print_traffic(rest or list(TRAFFIC_LAYERS))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
