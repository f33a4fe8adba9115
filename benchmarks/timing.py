"""Fair timing on a machine that drifts: what is compared runs alternately in one process; medians of paired ratios."""

import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from evonorm.kernels.library import find_library


def machine() -> str:
    """The machine and the versions, to stand above every table."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = f"{len(names)} x {names[0]}" if names else cpu
    library = find_library()[0]
    isa = library.isa() if library else "no native library"
    return f"{cpu}, {isa}, torch {torch.__version__}, {torch.get_num_threads()} thread(s)"


CLOCKS = {"wall": time.perf_counter, "cpu": time.thread_time}  # cpu: one thread on a machine that others use too


def alternate(
    runs: dict[str, Callable[[], None]], repeats: int, warmup: int = 2, clock: str = "wall"
) -> dict[str, list[float]]:
    """Seconds of every run, one after the other in each round."""
    now = CLOCKS[clock]
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(warmup + repeats):
        for name, run in runs.items():
            start = now()
            run()
            if turn >= warmup:
                seconds[name].append(now() - start)
    return seconds


def ratio(seconds: dict[str, list[float]], name: str, baseline: str) -> float:
    """The median of the ratios inside each round."""
    return statistics.median(a / b for a, b in zip(seconds[name], seconds[baseline], strict=True))


def milliseconds(values: list[float]) -> float:
    return statistics.median(values) * 1e3
