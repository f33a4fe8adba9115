"""Fair timing on a machine that drifts: what is compared runs in turns in one process; medians of paired ratios."""

import random
import statistics
import time
from collections.abc import Callable

Runs = dict[str, Callable[[], object]]
Seconds = dict[str, list[float]]
CLOCKS = {"wall": time.perf_counter, "cpu": time.thread_time}  # cpu: one thread on a machine that others use too


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
