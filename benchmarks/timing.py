"""Fair timing on a machine that drifts: what is compared runs in turns in one process; medians of paired ratios."""

import platform
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from evonorm.kernels.library import find_library
from evonorm.training import keep_freed_memory

Runs = dict[str, Callable[[], object]]
Seconds = dict[str, list[float]]
CLOCKS = {"wall": time.perf_counter, "cpu": time.thread_time}  # cpu: one thread on a machine that others use too
MALLOCS = ("kept", "system")


def choose_malloc(name: str) -> None:
    """kept: freed memory stays with the process, as in `evonorm.training`; system: as glibc does it by itself."""
    if name == "kept":
        keep_freed_memory()


def machine(malloc: str) -> str:
    """The machine, the versions and the allocator's setting, to stand above every table."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = f"{len(names)} x {names[0]}" if names else cpu
    library = find_library()[0]
    isa = library.isa() if library else "no native library"
    return f"{cpu}, {isa}, torch {torch.__version__}, {torch.get_num_threads()} thread(s), malloc: {malloc}"


def alternate(runs: Runs, repeats: int, warmup: int = 2, clock: str = "wall") -> Seconds:
    """Seconds of every run, all of them in each round, in another order each time: nobody always follows the same."""
    now, order = CLOCKS[clock], random.Random(0)  # noqa: S311
    seconds: Seconds = {name: [] for name in runs}
    for turn in range(warmup + repeats):
        for name in order.sample(list(runs), len(runs)):
            start = now()
            runs[name]()
            if turn >= warmup:
                seconds[name].append(now() - start)
    return seconds


def ratio(seconds: Seconds, name: str, baseline: str) -> float:
    """The median of the ratios inside each round."""
    return statistics.median(a / b for a, b in zip(seconds[name], seconds[baseline], strict=True))


def ratio_of_minima(seconds: Seconds, name: str, baseline: str) -> float:
    return min(seconds[name]) / min(seconds[baseline])


def milliseconds(values: list[float]) -> float:
    return statistics.median(values) * 1e3


def aim(value: float, bound: float | None) -> str:
    """The bound beside a figure, marked where the figure misses it."""
    if bound is None:
        return " " * 14
    return f"<= {bound:<4.2f} {'MISSED' if value > bound else '':6s}"
