"""How much cheaper a training step of each small anchor is than its CIFAR anchor's, and how long models take to build.

    python -m benchmarks.nano_step [--rounds 6]

Both nets of a pair train in one process on one thread, in turns, each at its own batch size with BN-ReLU, channels_last
and SGD with momentum, on random images: the time does not depend on what is in them. Target for a nano: at
most 1/8.
"""

import argparse
import platform
import time
from collections.abc import Callable
from statistics import median

import torch

import evonorm
from evonorm.models import ANCHORS
from evonorm.runner.layer_timing import training_step

PAIRS = {
    "resnet-nano": "resnet50-cifar",
    "mobilenet-nano": "mobilenetv2-cifar",
    "efficientnet-nano": "efficientnet-b0-cifar",
    "mobilenet-thin": "mobilenetv2-cifar",
}
STEPS_PER_TURN = {True: 4, False: 1}  # of a nano, of a CIFAR anchor


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure_pair(nano: str, anchor: str, rounds: int) -> tuple[list[float], list[float]]:
    torch.manual_seed(0)
    steps = {
        name: training_step(name, "bn-relu", True, ANCHORS[name].batch_size, ANCHORS[name].crop)
        for name in (nano, anchor)
    }
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        step()
        step()
    for _ in range(rounds):
        for name, step in steps.items():
            times[name] += [seconds(step) for _ in range(STEPS_PER_TURN[name == nano])]
    return times[nano], times[anchor]


def build_seconds(name: str, layer: str, times: int = 20) -> float:
    evonorm.create_model(name, layer)
    return median(seconds(lambda: evonorm.create_model(name, layer)) for _ in range(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, {platform.machine()}, one thread, {rounds} rounds; medians")
    print(f"{'small anchor':<18} {'batch':>5} {'step':>9}   {'CIFAR anchor':<22} {'batch':>5} {'step':>9}   ratio")
    for nano, anchor in PAIRS.items():
        small, large = (median(times) for times in measure_pair(nano, anchor, rounds))
        print(
            f"{nano:<18} {ANCHORS[nano].batch_size:>5} {small * 1e3:>6.1f} ms   "
            f"{anchor:<22} {ANCHORS[anchor].batch_size:>5} {large * 1e3:>6.1f} ms   1/{large / small:.1f}"
        )
    for name in ANCHORS:
        print(f"building {name:<22} {build_seconds(name, 'evonorm-b0') * 1e3:>6.1f} ms with evonorm-b0")


if __name__ == "__main__":
    main()
