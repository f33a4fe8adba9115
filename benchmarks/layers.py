"""Per layer, forward and backward: the native kernel against torch's BatchNorm2d + ReLU, timm and torch.compile.

python -m benchmarks.layers                 # the named layers at the shapes of the paper's anchors
python -m benchmarks.layers --random 200    # random graphs at (128, 64, 24, 24)
python -m benchmarks.layers --rivals        # timm's layers, eager and compiled
python -m benchmarks.layers --limit         # distance to the memory bandwidth
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.timing import alternate, machine, milliseconds, ratio
from evonorm.graph import sample_graph
from evonorm.kernels.plan import Kind
from evonorm.kernels.plan.rewrite import typed_values
from evonorm.layers import NormAct, create_layer

SHAPES = [
    ((128, 64, 24, 24), True),
    ((128, 256, 12, 12), True),
    ((128, 96, 24, 24), True),
    ((128, 512, 3, 3), True),
    ((128, 8, 24, 24), True),
    ((128, 64, 24, 24), False),
    ((128, 256, 12, 12), False),
    ((128, 512, 3, 3), False),
    ((2, 8, 2, 2), False),
]
NAMES = ("evonorm-s0", "evonorm-b0", "evonorm-s1", "evonorm-s2", "evonorm-b1", "evonorm-b2")


def bn_relu(channels: int) -> nn.Module:
    return nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU())


def tensors(shape: tuple[int, ...], channels_last: bool) -> tuple[Tensor, Tensor]:
    layout = torch.channels_last if channels_last else torch.contiguous_format
    return torch.randn(shape).to(memory_format=layout), torch.randn(shape).to(memory_format=layout)


def step_of(module: nn.Module, x: Tensor, gy: Tensor) -> Callable[[], None]:
    def step() -> None:
        module(x.detach().requires_grad_()).backward(gy)

    return step


def forward_of(module: nn.Module, x: Tensor) -> Callable[[], None]:
    def forward() -> None:
        with torch.no_grad():
            module(x)

    return forward


def rounds_for(x: Tensor, asked: int) -> int:
    return asked if x.numel() > 1_000_000 else 3 * asked if x.numel() > 10_000 else 40 * asked


def bench_named(rounds: int) -> None:
    for shape, channels_last in SHAPES:
        x, gy = tensors(shape, channels_last)
        modules = {"bn-relu": bn_relu(shape[1]), **{name: create_layer(name, shape[1]) for name in NAMES}}
        count = rounds_for(x, rounds)
        both = alternate({name: step_of(module, x, gy) for name, module in modules.items()}, count)
        forward = alternate({name: forward_of(module, x) for name, module in modules.items()}, count)
        print(f"{shape} {'channels_last' if channels_last else 'NCHW'}, n={count}")
        for name in modules:
            print(
                f"  {name:11s} forward+backward {milliseconds(both[name]):8.3f} ms"
                f"  ratio {ratio(both, name, 'bn-relu'):.2f}"
                f"   of minima {min(both[name]) / min(both['bn-relu']):.2f}"
                f"   no_grad forward ratio {ratio(forward, name, 'bn-relu'):.2f}"
            )


def bench_random(count: int, rounds: int) -> None:
    """Random graphs of the space with three or more live full values."""
    rng = np.random.default_rng(0)
    x, gy = tensors((128, 64, 24, 24), channels_last=True)
    baseline = bn_relu(64)
    ratios = []
    while len(ratios) < count:
        graph = sample_graph(rng)
        full = [v for v in typed_values(graph, 1e-5, True).values if v.kind == Kind.FULL and v.inputs]
        if not graph.reads("x") or len(full) < 3:
            continue
        runs = {"layer": step_of(NormAct(graph, 64), x, gy), "bn-relu": step_of(baseline, x, gy)}
        ratios.append((ratio(alternate(runs, rounds, warmup=1), "layer", "bn-relu"), str(graph)))
    ratios.sort()
    values = [each for each, _ in ratios]
    print(f"{count} random graphs at (128, 64, 24, 24) channels_last, n={rounds} each, ratio to bn-relu:")
    print(f"  median {statistics.median(values):.2f}, p90 {values[int(0.9 * count)]:.2f}, worst {values[-1]:.2f}")
    for value, text in ratios[-3:]:
        print(f"  {value:.2f}  {text}")


def bench_rivals(rounds: int) -> None:
    """timm's EvoNorm layers, eager and compiled, in the same run."""
    from timm.layers import EvoNorm2dB0, EvoNorm2dS0

    x, gy = tensors((128, 64, 24, 24), channels_last=True)
    for name, rival in (("evonorm-b0", EvoNorm2dB0(64)), ("evonorm-s0", EvoNorm2dS0(64))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = torch.compile(rival)
            start = time.perf_counter()
            step_of(compiled, x, gy)()
            first = time.perf_counter() - start
            modules = {"native": create_layer(name, 64), "timm": rival, "timm compiled": compiled}
            seconds = alternate({key: step_of(module, x, gy) for key, module in modules.items()}, rounds)
        for key in modules:
            print(
                f"  {name} {key:14s} {milliseconds(seconds[key]):8.2f} ms  {ratio(seconds, key, 'native'):.1f} x native"
            )
        print(f"  {name} compiled: {first:.1f} s before its first step is through")


def bench_limit(rounds: int) -> None:
    """What the passes would cost at copy bandwidth, and what they cost."""
    x, gy = tensors((128, 64, 24, 24), channels_last=True)
    out = torch.empty_like(x)
    megabytes = x.numel() * 4 / 1e6
    copy = milliseconds(alternate({"copy": lambda: out.copy_(x) and None}, rounds)["copy"])
    print(f"copy of {megabytes:.1f} MB: {copy:.2f} ms, {2 * megabytes / copy:.0f} GB/s read and written")
    # tensors read and written: what lies in L2 from the pass before is not counted again
    traffic = {"evonorm-s0": (2, 3), "evonorm-b0": (3, 6)}
    for name, (forward, backward) in traffic.items():
        layer = create_layer(name, 64)
        in_forward = milliseconds(alternate({"f": forward_of(layer, x)}, rounds)["f"])
        in_both = milliseconds(alternate({"b": step_of(layer, x, gy)}, rounds)["b"])
        for what, reached, count in (("forward", in_forward, forward), ("backward", in_both - in_forward, backward)):
            limit = copy * count / 2
            print(
                f"  {name} {what:8s} {count} tensors: limit {limit:.2f} ms,"
                f" reached {reached:.2f} ms, {reached / limit:.1f} x"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--limit", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print(machine())
    if options.random:
        bench_random(options.random, max(3, options.rounds // 5))
    elif options.rivals:
        bench_rivals(options.rounds)
    elif options.limit:
        bench_limit(options.rounds)
    else:
        bench_named(options.rounds)


if __name__ == "__main__":
    main()
