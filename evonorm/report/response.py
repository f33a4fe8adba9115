"""A layer's response: its output against x while the statistics of x are held fixed.

The statistics are those of a normal distribution, the same for every index set (so B0's batch and instance moments
agree); v0 = 0 and v1 = 1 as at initialization, and the affine is left out.
"""

import functools
from dataclasses import dataclass
from statistics import NormalDist

import torch
from torch import Tensor

from evonorm.graph import V0, V1, ZERO, Graph, X
from evonorm.kernels import moment_over, torch_function

STATISTICS = ((0.0, 0.5), (0.0, 1.0), (0.0, 2.0), (1.0, 1.0))  # (mean, std) of x, a curve each
EPS = 1e-5
QUANTILES = 2001  # stand for the distribution; their std is off by 0.1 %


@dataclass(frozen=True)
class ResponseCurve:
    """One curve: the output at each x of a grid, for inputs of this mean and standard deviation."""

    mean: float
    std: float
    x: tuple[float, ...]
    y: tuple[float, ...]


def responses(graph: Graph, reach: float = 4.0, points: int = 81) -> list[ResponseCurve]:
    """The curves for all of STATISTICS, for x from -reach to reach."""
    grid = torch.linspace(-reach, reach, points, dtype=torch.float64)
    return [
        ResponseCurve(mean, std, tuple(grid.tolist()), tuple(_output(graph, grid, mean, std).tolist()))
        for mean, std in STATISTICS
    ]


@functools.cache
def _population(mean: float, std: float) -> tuple[float, ...]:
    normal = NormalDist(mean, std)
    return tuple(normal.inv_cdf((i + 0.5) / QUANTILES) for i in range(QUANTILES))


def _output(graph: Graph, grid: Tensor, mean: float, std: float) -> Tensor:
    """Runs the graph on the distribution, which gives the moments, and on the grid, which reads them."""
    zero, one = grid.new_zeros(1), grid.new_ones(1)
    initial = {ZERO: zero, V0: zero, V1: one}
    spread = {X: grid.new_tensor(_population(mean, std)), **initial}
    curve = {X: grid, **initial}
    for number, node in graph.live_nodes:
        moment = node.primitive.moment
        if moment is None:
            for values in (spread, curve):
                values[number] = torch_function(node.op)(*(values[i] for i in node.inputs))
        else:
            raw = moment_over((0,), moment, spread[node.inputs[0]])
            spread[number] = curve[number] = raw if moment == "mean" else torch.sqrt(raw + EPS)
    return curve[graph.output].expand(grid.shape)
