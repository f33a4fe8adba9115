"""Distance to the memory's limit: what a program's passes would cost if only the memory took time.

How it is counted, from the plan itself. A phase walks all samples once. Inside a phase a thread runs every pass of one
sample before the next sample, so x, gy and out of that sample come from memory once and are in L2 for the later passes
(64 x 24 x 24 floats are 147 kB; three tensors 442 kB of 512 kB). So per phase: x is read once if any pass reads it,
likewise gy, and out is written once; out that an earlier phase wrote is updated in place. The small rows do not count.

What each costs is measured in the same run on tensors of the same size, already faulted in: `copy_` (a read and a
write), `sum` (a read) and `add_` (a read and an update in place). A write costs what copying costs less a read, so that
a cache line fetched before it is written is in it. Ours are the C calls alone, on buffers of their own.

The second table answers what binds: the same program on one thread, on one sample (it stays in L2) and on 128 (it does
not), per element. If both cost the same, the memory is not what binds.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from benchmarks.layer_runs import LARGE
from evonorm.kernels.cpu.library import prepared_layer
from evonorm.kernels.cpu.native import DTYPES
from evonorm.kernels.cpu.planner import program_of
from evonorm.kernels.cpu.program import REGISTER_GY, REGISTER_X, Phase
from evonorm.kernels.tensors import CHANNELS_LAST
from evonorm.layers import NormAct, create_layer
from evonorm.runner.layer_timing import tensors
from evonorm.runner.timing import alternate, milliseconds

NAMES = ("evonorm-s0", "evonorm-b0")


class KernelCalls:
    """The library's forward and backward of one layer on buffers made beforehand, channels_last."""

    def __init__(self, module: NormAct, x: Tensor, gy: Tensor) -> None:
        layer = prepared_layer(module.kernel_call(x))
        assert layer is not None, "the native library is not built"
        self.layer, self.x, self.gy = layer, x, gy
        self.y, self.grad_x = torch.empty_like(x), torch.empty_like(x)
        batch, channels, *plane = x.shape
        self.saved = torch.empty(layer.saved_floats(batch, channels))
        self.exports = torch.empty(max(layer.exports, 1) * channels)
        vectors = (module.weight, module.bias, module.v0, module.v1)
        self.vectors = [vectors[i].detach().clone() for i in layer.parameters]
        self.gradients = [vectors[i].detach().clone() for i in layer.gradients]
        self.shape = (batch, channels, plane[0] * plane[1], module.groups, CHANNELS_LAST, DTYPES[x.dtype])

    def forward(self) -> None:
        pointers = [each.data_ptr() for each in (self.x, self.y, self.saved, self.exports)]
        parameters = tuple(each.data_ptr() for each in self.vectors)
        self.layer.library.forward(self.layer.handle, *pointers, parameters, *self.shape, torch.get_num_threads())

    def backward(self) -> None:
        pointers = [each.data_ptr() for each in (self.x, self.gy, self.grad_x, self.saved)]
        rows = [tuple(each.data_ptr() for each in vectors) for vectors in (self.vectors, self.gradients)]
        self.layer.library.backward(self.layer.handle, *pointers, *rows, *self.shape, torch.get_num_threads())


def traffic(phases: Iterable[Phase]) -> tuple[int, int, int]:
    """Tensors that are read, written for the first time, and updated in place, over all phases."""
    reads = writes = updates = 0
    for phase in phases:
        passes = [stage.tiles for stage in phase.stages if stage.tiles is not None]
        reads += sum(any(each.reads(register) for each in passes) for register in (REGISTER_X, REGISTER_GY))
        if any(each.writes_out for each in passes):
            writes, updates = (writes + 1, updates) if writes == 0 else (writes, updates + 1)
    return reads, writes, updates


def memory_milliseconds(rounds: int) -> tuple[float, float, float]:
    """What a read, a write and an update in place of one tensor cost."""
    x, out = tensors(LARGE)
    flat = x.permute(0, 2, 3, 1).reshape(-1)
    runs: dict[str, Callable[[], object]] = {
        "copy": lambda: out.copy_(x),
        "read": lambda: flat.sum(),
        "add": lambda: out.add_(x),
    }
    seconds = alternate(runs, 3 * rounds)
    copy, read, add = [1e3 * min(seconds[name]) for name in runs]
    size = x.numel() * 4 / 1e6
    print(
        f"{size:.1f} MB, least of {3 * rounds}: copy_ {copy:.2f} ms ({2 * size / copy:.0f} GB/s),"
        f" sum {read:.2f} ms ({size / read:.0f} GB/s), add_ {add:.2f} ms ({3 * size / add:.0f} GB/s)"
    )
    return read, copy - read, add - read


def bench_limit(rounds: int) -> None:
    costs = memory_milliseconds(rounds)
    print(f"{LARGE} channels_last, C calls, median of {rounds} (least); R W U: tensors read, written, updated in place")
    for name in NAMES:
        module = create_layer(name, LARGE[1])
        calls = KernelCalls(module, *tensors(LARGE))
        program = program_of(module.graph, module.eps, True)
        seconds = alternate({"forward": calls.forward, "backward": calls.backward}, rounds)
        for what, phases in (("forward", program.forward), ("backward", program.backward)):
            counts = traffic(phases)
            limit = sum(count * cost for count, cost in zip(counts, costs, strict=True))
            median, least = milliseconds(seconds[what]), 1e3 * min(seconds[what])
            print(
                f"  {name} {what:8s} R{counts[0]} W{counts[1]} U{counts[2]}: limit {limit:5.2f} ms,"
                f" reached {median:5.2f} ({least:5.2f}) ms, {median / limit:.1f} ({least / limit:.1f}) x"
            )
    bench_one_sample(rounds)


def bench_one_sample(rounds: int) -> None:
    """The same programs on a sample that stays in L2 and on a batch that does not."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    print(f"one thread, ns per element, least of {3 * rounds}: one sample (in L2), all {LARGE[0]} (not in L2)")
    for name in NAMES:
        module = create_layer(name, LARGE[1])
        calls = {batch: KernelCalls(module, *tensors((batch, *LARGE[1:]))) for batch in (1, LARGE[0])}
        runs: dict[str, Callable[[], object]] = {}
        for batch, each in calls.items():
            runs[f"forward {batch}"], runs[f"backward {batch}"] = each.forward, each.backward
        seconds = alternate(runs, 3 * rounds)
        for what in ("forward", "backward"):
            cost = [1e9 * min(seconds[f"{what} {batch}"]) / each.x.numel() for batch, each in calls.items()]
            print(
                f"  {name} {what:8s} {cost[0]:5.2f}  {cost[1]:5.2f}   memory adds {100 * (cost[1] / cost[0] - 1):.0f} %"
            )
    torch.set_num_threads(threads)
