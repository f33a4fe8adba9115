"""One layer, forward and backward: the native kernel against torch's BatchNorm2d + ReLU, and what else can be asked.

python -m benchmarks.layers                 # the named layers at the shapes of the paper's anchors; one and two threads
python -m benchmarks.layers --random 200    # random graphs at (128, 64, 24, 24)
python -m benchmarks.layers --rivals        # timm's layers, eager and compiled
python -m benchmarks.layers --memory        # what is kept for backward, and the peak of a chain
python -m benchmarks.layers --limit         # distance to the memory bandwidth
"""

import argparse
from collections.abc import Callable
from math import prod

import torch

from benchmarks.layer_runs import LARGE, NAMES, bn_relu
from benchmarks.limit import bench_limit
from benchmarks.memory import bench_memory
from benchmarks.random_graphs import bench_random
from benchmarks.rivals import bench_rivals
from benchmarks.timing import MALLOCS, aim, choose_malloc, machine
from evonorm.layers import create_layer
from evonorm.runner.layer_timing import forward_of, step_of, tensors
from evonorm.runner.timing import alternate, milliseconds, ratio, ratio_of_minima

CHANNELS_LAST, NCHW = True, False
SHAPES = [
    (LARGE, CHANNELS_LAST),
    ((128, 256, 12, 12), CHANNELS_LAST),
    ((128, 96, 24, 24), CHANNELS_LAST),
    ((128, 512, 3, 3), CHANNELS_LAST),
    ((128, 8, 24, 24), CHANNELS_LAST),
    (LARGE, NCHW),
    ((128, 256, 12, 12), NCHW),
    ((128, 512, 3, 3), NCHW),
    ((128, 8, 24, 24), NCHW),
    ((2, 8, 2, 2), NCHW),
]
THREAD_SHAPES = ((2, 8, 2, 2), (8, 16, 8, 8), LARGE)
AIM_FORWARD = 1.0
AIM_THREADS = 1.02  # never slower; 2 % is what repeated runs differ by


def aim_of(name: str, shape: tuple[int, ...], channels_last: bool) -> float | None:
    """The bounds of forward + backward: large layers, 512 channels at 3x3, eight channels, tiny tensors."""
    if name == "bn-relu":
        return None
    if prod(shape) >= 1_000_000:
        return {"evonorm-s0": 0.80, "evonorm-b0": 0.90}.get(name)
    if shape[2:] == (3, 3):
        return 1.25 if channels_last else 1.5
    return 1.2 if shape[1:] == (8, 24, 24) else 1.3


def rounds_for(shape: tuple[int, ...], asked: int) -> int:
    """Short runs are disturbed more, and cheap to repeat."""
    return asked if prod(shape) > 1_000_000 else 3 * asked if prod(shape) > 10_000 else 40 * asked


def bench_shape(shape: tuple[int, ...], channels_last: bool, rounds: int) -> None:
    x, gy = tensors(shape, channels_last)
    modules = {"bn-relu": bn_relu(shape[1]), **{name: create_layer(name, shape[1]) for name in NAMES}}
    both = alternate({name: step_of(module, x, gy) for name, module in modules.items()}, rounds)
    forward = alternate({name: forward_of(module, x) for name, module in modules.items()}, rounds)
    print(f"{shape} {'channels_last' if channels_last else 'NCHW'}, n={rounds}")
    for name in modules:
        of_both, of_forward = ratio(both, name, "bn-relu"), ratio(forward, name, "bn-relu")
        print(
            f"  {name:11s} {milliseconds(both[name]):8.3f}"
            f" {of_both:7.2f} {ratio_of_minima(both, name, 'bn-relu'):10.2f}"
            f"   {aim(of_both, aim_of(name, shape, channels_last))}"
            f" {milliseconds(forward[name]):10.3f} {of_forward:7.2f} {ratio_of_minima(forward, name, 'bn-relu'):10.2f}"
            f"   {aim(of_forward, None if name == 'bn-relu' else AIM_FORWARD)}",
            flush=True,
        )


def bench_named(rounds: int) -> None:
    print("ratio: median of the ratios to bn-relu inside each round; first forward + backward, then forward in no_grad")
    columns = f"{'ratio':>7s} {'of minima':>10s}   {'aim':14s}"
    print(f"  {'layer':11s} {'ms':>8s} {columns} {'ms':>10s} {columns}")
    for shape, channels_last in SHAPES:
        bench_shape(shape, channels_last, rounds_for(shape, rounds))


def with_threads(count: int, step: Callable[[], None], times: int) -> Callable[[], None]:
    def run() -> None:
        torch.set_num_threads(count)
        for _ in range(times):
            step()

    return run


def bench_threads(rounds: int) -> None:
    """Never slower than one thread: the same layer with one and with two, in turns."""
    print("two threads against one, forward + backward, channels_last; ratio of times, small sizes 20 at a time")
    for shape in THREAD_SHAPES:
        x, gy = tensors(shape)
        times = 1 if prod(shape) > 1_000_000 else 20
        for name in ("evonorm-s0", "evonorm-b0", "bn-relu"):
            step = step_of(bn_relu(shape[1]) if name == "bn-relu" else create_layer(name, shape[1]), x, gy)
            runs = {str(count): with_threads(count, step, times) for count in (1, 2)}
            seconds = alternate(runs, rounds if times == 1 else 10 * rounds)
            value, bound = ratio(seconds, "2", "1"), None if name == "bn-relu" else AIM_THREADS
            print(
                f"  {shape!s:18s} {name:11s} one {milliseconds(seconds['1']) / times:8.3f} ms  ratio {value:5.2f}"
                f"  of minima {ratio_of_minima(seconds, '2', '1'):5.2f}   {aim(value, bound)}",
                flush=True,
            )


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--malloc", choices=MALLOCS, default="kept", help="kept: as evonorm's training loop sets it")
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--limit", action="store_true")
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    choose_malloc(options.malloc)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print(machine(options.malloc))
    if options.random:
        bench_random(options.random, max(3, options.rounds // 3))
    elif options.rivals:
        bench_rivals(options.rounds)
    elif options.memory:
        bench_memory()
    elif options.limit:
        bench_limit(options.rounds)
    else:
        bench_named(options.rounds)
        bench_threads(options.rounds)


if __name__ == "__main__":
    main()
