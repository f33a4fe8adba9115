"""Runs a graph and its input gradient on tiny arrays with numpy: for checks that must cost less than a millisecond.

On a few thousand elements torch spends its time on bookkeeping, not on numbers. Here a node is a few numpy calls, those
of its primitive's record; the numerics are those of `eager.py`, and a test holds the two together.

Arrays are (p, s, k, b, g): independent probes, pixels, channels of one group, samples, groups. Groups lie last, so that
all moments but those over every channel add up long contiguous rows. numpy runs these calls on one thread and in one
order: the same arrays give the same bits.
"""

from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from evonorm.graph import EPS, INDEX_SETS, V0, V1, ZERO, Array, Graph, Primitive, X, unless_cancelled

Axes = tuple[int, ...]


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
        values[number] = _value(node.primitive, [values[i] for i in node.inputs])
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
        parts = _input_gradients(node.primitive, gradients[number], values[number], inputs)
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


def _value(primitive: Primitive, inputs: list[Array]) -> Array:
    if primitive.numpy is not None:
        return primitive.numpy(*inputs)
    (a,) = inputs
    axes = probe_axes(str(primitive.index_set))
    if primitive.moment == "mean":
        return unless_cancelled(_mean(a, axes), _mean(np.abs(a), axes))
    return np.sqrt(_mean(np.square(a if primitive.moment == "rms" else _spread(a, axes)), axes) + EPS)


def _input_gradients(primitive: Primitive, g: Array, y: Array, inputs: list[Array]) -> tuple[Array, ...]:
    """From the gradient g of the value y: d mean = da / n, d rms = a da / (n rms), d std = (a - mean) da / (n std)."""
    if primitive.numpy_backward is not None:
        return primitive.numpy_backward(g, y, *inputs)
    (a,) = inputs
    axes = probe_axes(str(primitive.index_set))
    scaled = g / prod(a.shape[i] for i in axes)
    if primitive.moment == "mean":
        return (np.broadcast_to(scaled, a.shape),)
    return (scaled / y * (a if primitive.moment == "rms" else _spread(a, axes)),)


@cache
def probe_axes(index_set: str) -> Axes:
    """Where the axes that a moment averages over lie in a probe."""
    return tuple(place for place, axis in enumerate("pscbg") if axis in INDEX_SETS[index_set].axes)


def _mean(a: Array, axes: Axes) -> Array:
    return np.add.reduce(a, axes, keepdims=True) / prod(a.shape[i] for i in axes)


def _spread(a: Array, axes: Axes) -> Array:
    return a - _mean(a, axes)
