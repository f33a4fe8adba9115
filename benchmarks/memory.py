"""Memory of a layer: the bytes autograd keeps for backward, and the peak of a process that runs a chain of layers.

Kept: every storage that a saved-tensor hook sees, once, without the parameters, as a multiple of the input. A layer's
input counts as kept by it. In a chain the output of one is the input of the next, and counts once.

Peak: the high-water mark of resident memory (VmHWM) during forward and backward of the chain, above what was resident
before it, in a fresh process for each layer. It holds the input, what is kept, the gradients and what each operation
needs meanwhile.

    python -m benchmarks.layers --memory
    python -m benchmarks.memory evonorm-s0      # one layer in this process; prints peak / input
"""

import subprocess
import sys
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.layer_runs import LARGE, NAMES, bn_relu
from benchmarks.rival_names import RIVALS
from benchmarks.timing import aim
from evonorm.layers import create_layer
from evonorm.runner.layer_timing import step_of, tensors

CHAIN, PROCESSES = 20, 2
SMALL_BATCH = 16  # what a chain keeps is counted, not measured: no need for gigabytes
AIM_KEPT = 1.05
SHAPES = (LARGE, (128, 256, 12, 12), (128, 512, 3, 3))


def make_layer(name: str, channels: int) -> nn.Module:
    """One of ours, bn-relu, or a class of timm."""
    if name == "bn-relu":
        return bn_relu(channels)
    if name in NAMES:
        return create_layer(name, channels)
    import timm.layers  # takes seconds, which the processes of our own layers need not wait for

    return getattr(timm.layers, name)(channels)


def kept_bytes(module: nn.Module, x: Tensor) -> int:
    parameters = {each.untyped_storage().data_ptr() for each in module.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # the tensor itself would hold its own graph, and nothing would ever be freed

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = module(x.detach().requires_grad_())  # y holds the graph, so that no address is used twice
    del y
    return sum(kept.values())


def kept_ratio(name: str, shape: tuple[int, ...], layers: int) -> float:
    """Bytes kept by each of so many layers in a row, in multiples of the input."""
    x, _ = tensors(shape)
    chain = nn.Sequential(*[make_layer(name, shape[1]) for _ in range(layers)])
    return kept_bytes(chain, x) / (x.numel() * x.element_size() * layers)


def resident_kilobytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def peak_ratio(name: str) -> float:
    """Peak of a chain's forward and backward above what was resident before, in multiples of one input."""
    torch.set_num_threads(1)  # the peak does not depend on it
    x, gy = tensors(LARGE)
    small = tensors((2, *LARGE[1:]))
    chain = nn.Sequential(*[make_layer(name, LARGE[1]) for _ in range(CHAIN)])
    step_of(chain, *small)()  # libraries, threads and parameters' gradients are there before it counts
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    before = resident_kilobytes("VmRSS")
    step_of(chain, x, gy)()
    return (resident_kilobytes("VmHWM") - before) * 1024 / (x.numel() * x.element_size())


def peaks_in_own_processes(name: str) -> list[float]:
    """Several, in order: how well malloc fills the holes between blocks differs from process to process."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.memory", name]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(PROCESSES)]  # noqa: S603
    return sorted(float(each.stdout) for each in runs)


def bench_memory() -> None:
    shapes = "  ".join(f"{'x'.join(map(str, shape[1:])):>9s}" for shape in SHAPES)
    print("kept for backward by one layer at batch 128, by each layer of a chain, and a chain's peak per layer;")
    print(f"multiples of the input, channels_last; the chain: {CHAIN} layers at {LARGE}; the aim is for {LARGE}")
    print(f"  {'layer':13s} {shapes}   {'aim':14s}  chain   peak of {PROCESSES} processes")
    for name in ("bn-relu", *NAMES, *[each for rivals in RIVALS.values() for each in rivals]):
        kept = [kept_ratio(name, shape, 1) for shape in SHAPES]
        figures = "  ".join(f"{each:9.3f}" for each in kept)
        bound = aim(kept[0], AIM_KEPT if name in NAMES else None)
        chain = kept_ratio(name, (SMALL_BATCH, *LARGE[1:]), CHAIN)
        least, *_, most = [each / CHAIN for each in peaks_in_own_processes(name)]
        print(f"  {name:13s} {figures}   {bound}  {chain:5.2f}  {least:5.2f} to {most:.2f}", flush=True)


if __name__ == "__main__":
    print(peak_ratio(sys.argv[1]))
