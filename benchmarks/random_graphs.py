"""Random graphs of the search space as layers, at (128, 64, 24, 24): what a search pays per candidate."""

import statistics
from collections.abc import Iterator

import numpy as np

from benchmarks.layer_runs import LARGE, bn_relu
from benchmarks.timing import aim
from evonorm.graph import Graph, sample_graph
from evonorm.kernels.plan.rewrite import make_plan
from evonorm.kernels.plan.values import Kind
from evonorm.layers import NormAct
from evonorm.runner.layer_timing import step_of, tensors
from evonorm.runner.timing import alternate, ratio, ratio_of_minima

AIM_MEDIAN, AIM_WORST, WORST = 0.9, 1.6, 5


def graphs_with_work() -> Iterator[Graph]:
    """Random graphs that read x and compute at least three values per element."""
    rng = np.random.default_rng(0)
    while True:
        graph = sample_graph(rng)
        full = [v for v in make_plan(graph, 1e-5, True).values if v.kind == Kind.FULL and v.inputs]
        if graph.reads("x") and len(full) >= 3:
            yield graph


def bench_random(count: int, rounds: int) -> None:
    x, gy = tensors(LARGE)
    baseline = step_of(bn_relu(LARGE[1]), x, gy)

    def measure(graph: Graph, times: int) -> tuple[float, float]:
        seconds = alternate({"layer": step_of(NormAct(graph, LARGE[1]), x, gy), "bn": baseline}, times, warmup=1)
        return ratio(seconds, "layer", "bn"), ratio_of_minima(seconds, "layer", "bn")

    found = [(*measure(graph, rounds), graph) for graph, _ in zip(graphs_with_work(), range(count), strict=False)]
    for place, what in enumerate(("median of ratios", "ratio of minima")):
        values = sorted(each[place] for each in found)
        median = statistics.median(values)
        print(
            f"{count} random graphs, channels_last, n={rounds} each in turns with bn-relu, {what}:"
            f" median {median:.2f} {aim(median, AIM_MEDIAN)}"
            f" p90 {values[int(0.9 * count)]:.2f}, worst {values[-1]:.2f} {aim(values[-1], AIM_WORST)}"
        )
    # the largest of many medians of few is mostly the most disturbed one, so these are measured again
    again = 4 * rounds
    print(f"the {WORST} worst, measured again with n={again}: median of ratios (of minima)")
    for first, _, graph in sorted(found, key=lambda each: -each[0])[:WORST]:
        value, of_minima = measure(graph, again)
        print(f"  {first:.2f}, again {value:.2f} ({of_minima:.2f}) {aim(value, AIM_WORST)} {graph}", flush=True)
