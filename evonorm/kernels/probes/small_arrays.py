"""Runs a graph and its input gradient on tiny arrays with numpy: for checks that must cost less than a millisecond.

On a few thousand elements torch spends its time on bookkeeping, not on numbers. Here a node is a few numpy calls and
its adjoint is written by hand; the numerics are those of `eager.py`, and a test holds the two together.

Arrays are (p, s, k, b, g): independent probes, pixels, channels of one group, samples, groups. Groups lie last, so that
all moments but those over every channel add up long contiguous rows. numpy runs these calls on one thread and in one
order: the same arrays give the same bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from evonorm.graph import LOG_SQRT_EPS, PRIMITIVES, SMALLEST_DIVISOR, V0, V1, ZERO, Graph, X

Array = NDArray[np.floating]
Axes = tuple[int, ...]

EPS = 1e-5
AXES: dict[str, Axes] = {"bwh": (1, 3), "whc": (1, 2, 4), "wh": (1,), "whcg": (1, 2)}
# Where the terms of a sum cancel down to this share of them, what is left is rounding. It counts as zero, since its
# sign would decide what abs, the signed log or the guarded division make of it.
CANCELLED = 1e-13


@dataclass(frozen=True)
class Probes:
    """What a graph is run on: x (p, s, k, b, g), v0 and v1 (p, 1, k, 1, g), and the output's gradient, shaped as x."""

    x: Array
    v0: Array
    v1: Array
    output_gradient: Array


def run_small(graph: Graph, probes: Probes) -> tuple[Array, Array]:
    """The output before the affine, broadcastable to x, and the gradient to x."""
    with np.errstate(all="ignore"):
        values = forward_small(graph, probes.x, probes.v0, probes.v1)
        return values[graph.output], backward_small(graph, values, probes.output_gradient)


def forward_small(graph: Graph, x: Array, v0: Array, v1: Array) -> dict[int, Array]:
    """The value of every node."""
    zero = np.zeros((1,) * x.ndim, x.dtype)
    values: dict[int, Array] = {X: x, ZERO: zero, V0: v0, V1: v1}
    for number, node in graph.live_nodes:
        values[number] = FORWARD[node.op](*(values[i] for i in node.inputs))
    return values


def backward_small(graph: Graph, values: dict[int, Array], output_gradient: Array) -> Array:
    """The gradient to x, from the values that `forward_small` gave."""
    reads_x = {X}
    for number, node in graph.live_nodes:
        if not reads_x.isdisjoint(node.inputs):
            reads_x.add(number)
    if graph.output not in reads_x:
        return np.zeros_like(values[X])
    gradients = {graph.output: _summed_to(values[graph.output], output_gradient)}
    for number, node in reversed(graph.live_nodes):
        if number not in reads_x:
            continue
        inputs = [values[i] for i in node.inputs]
        parts = BACKWARD[node.op](gradients[number], values[number], *inputs)
        for i, part in zip(node.inputs, parts, strict=True):
            if i in reads_x:
                part = _summed_to(values[i], part)
                gradients[i] = gradients[i] + part if i in gradients else part
    return gradients[X]


def _summed_to(value: Array, gradient: Array) -> Array:
    """The gradient of a value that was broadcast: summed over the axes along which it was repeated."""
    if value.shape == gradient.shape:
        return gradient
    axes = tuple(i for i, size in enumerate(value.shape) if size < gradient.shape[i])
    return np.add.reduce(gradient, axes, keepdims=True)


def _unless_cancelled(total: Array, terms: Array) -> Array:
    cancelled = np.abs(total) <= CANCELLED * terms  # NaN stays: no comparison holds
    if cancelled.any():
        total[cancelled] = 0
    return total


def _add(a: Array, b: Array) -> Array:
    return _unless_cancelled(a + b, np.abs(a))


def _divisor(b: Array) -> Array:
    return np.copysign(np.maximum(np.abs(b), SMALLEST_DIVISOR), b + 0.0)  # -0 + 0 is 0, which counts as positive


def _div_parts(g: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:  # noqa: ARG001 (one face for all)
    to_a = g / _divisor(b)
    return to_a, np.where(np.abs(b) >= SMALLEST_DIVISOR, -to_a * y, 0)


def _max_parts(g: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:  # noqa: ARG001
    share = 0.5 * (a > b) + 0.5 * (a >= b)  # a tie is split in halves
    return g * share, g * (1 - share)


def _signed_log(a: Array) -> Array:
    return np.sign(a) * np.log(np.abs(a) + LOG_SQRT_EPS)


def _signed_sqrt(a: Array) -> Array:
    return np.sign(a) * np.sqrt(np.abs(a) + LOG_SQRT_EPS)


def _mean(a: Array, axes: Axes) -> Array:
    return np.add.reduce(a, axes, keepdims=True) / prod(a.shape[i] for i in axes)


def _spread(a: Array, axes: Axes) -> Array:
    return a - _mean(a, axes)


def _moment_forward(moment: str, axes: Axes) -> Callable[[Array], Array]:
    if moment == "mean":
        return lambda a: _unless_cancelled(_mean(a, axes), _mean(np.abs(a), axes))
    if moment == "rms":
        return lambda a: np.sqrt(_mean(a * a, axes) + EPS)
    return lambda a: np.sqrt(_mean(np.square(_spread(a, axes)), axes) + EPS)


def _moment_backward(moment: str, axes: Axes) -> Callable[[Array, Array, Array], tuple[Array]]:
    """d mean / da = 1/n; d rms / da = a / (n rms); d std / da = (a - mean) / (n std)."""

    def scaled(g: Array, a: Array) -> Array:
        return g / prod(a.shape[i] for i in axes)

    if moment == "mean":
        return lambda g, y, a: (np.broadcast_to(scaled(g, a), a.shape),)  # noqa: ARG005
    if moment == "rms":
        return lambda g, y, a: (scaled(g, a) / y * a,)
    return lambda g, y, a: (scaled(g, a) / y * _spread(a, axes),)


FORWARD: dict[str, Callable[..., Array]] = {
    "add": _add,
    "mul": np.multiply,
    "div": lambda a, b: a / _divisor(b),
    "max": np.maximum,
    "neg": np.negative,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "tanh": np.tanh,
    "exp": np.exp,
    "log": _signed_log,
    "abs": np.abs,
    "square": np.square,
    "sqrt": _signed_sqrt,
}
# Adjoints: the output's gradient g, the output y and the inputs in, a gradient for each input out.
BACKWARD: dict[str, Callable[..., tuple[Array, ...]]] = {
    "add": lambda g, y, a, b: (g, g),  # noqa: ARG005
    "mul": lambda g, y, a, b: (g * b, g * a),  # noqa: ARG005
    "div": _div_parts,
    "max": _max_parts,
    "neg": lambda g, y, a: (-g,),  # noqa: ARG005
    "sigmoid": lambda g, y, a: (g * y * (1 - y),),  # noqa: ARG005
    "tanh": lambda g, y, a: (g * (1 - y * y),),  # noqa: ARG005
    "exp": lambda g, y, a: (g * y,),  # noqa: ARG005
    "log": lambda g, y, a: (g * np.square(np.sign(a)) / (np.abs(a) + LOG_SQRT_EPS),),  # noqa: ARG005
    "abs": lambda g, y, a: (g * np.sign(a),),  # noqa: ARG005
    "square": lambda g, y, a: (2 * g * a,),  # noqa: ARG005
    "sqrt": lambda g, y, a: (g * np.square(np.sign(a)) / (2 * np.sqrt(np.abs(a) + LOG_SQRT_EPS)),),  # noqa: ARG005
}
for _primitive in PRIMITIVES.values():
    if _primitive.moment is not None and _primitive.index_set is not None:
        FORWARD[_primitive.name] = _moment_forward(_primitive.moment, AXES[_primitive.index_set])
        BACKWARD[_primitive.name] = _moment_backward(_primitive.moment, AXES[_primitive.index_set])
