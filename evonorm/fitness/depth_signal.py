"""Signal and gradient through a deep random net with a layer, without training and without torch. Not in the paper.

The net is a chain: the layer as it is before training, then a random separable convolution, and so on. Where the signal
or its gradient grows or shrinks by a constant factor a layer, a deep net begins out of scale; where all samples come
out alike, it begins blind. A layer must stand convolutions that keep the scale and such that shrink it, as those of
inverted residuals do: one that does not normalize vanishes there. `studies.free_checks.depth_signal` counts how many of
the layers that cannot be trained this finds, and what it costs among the others; docs/lab_log.md has the figures behind
the limits.
"""

import math
from dataclasses import asdict, dataclass
from functools import cache, lru_cache

import numpy as np

from evonorm.fitness.bend import reject_straight
from evonorm.graph import Array, Graph, simplify
from evonorm.journal import Rejected, Test
from evonorm.kernels import backward_small, forward_small

DEPTH = 30
GAINS = (1.0, 0.25)  # of the convolutions
LARGEST_GROWTH = 0.3  # B0-B2, S0-S2, BN-ReLU and the like have up to 0.06
LARGEST_LIKENESS = 0.98  # these up to 0.74, LN-ReLU 0.977
SIDE, CHANNELS_OF_GROUP, SAMPLES, GROUPS = 3, 2, 4, 32  # maps of 3 x 3 pixels; 64 channels
CHANNELS = CHANNELS_OF_GROUP * GROUPS


@dataclass(frozen=True)
class DepthSignal:
    """What reaches the end of the chain; growths are powers of ten per layer, NaN where something is not finite.

    Attributes:
        forward: growth of the signal's root mean square from the first layer's output to the last one's.
        backward: growth of the gradient from the last layer's input back to the first one's.
        likeness: correlation between samples at the end, averaged over pairs: 1 where the net cannot tell them apart.
    """

    forward: float
    backward: float
    likeness: float

    @property
    def finite(self) -> bool:
        return math.isfinite(self.forward) and math.isfinite(self.backward)

    @property
    def largest_growth(self) -> float:
        """By how many powers of ten a layer the scale moves, up or down; infinite where nothing finite arrives."""
        return max(abs(self.forward), abs(self.backward)) if self.finite else math.inf

    def within(self, growth: float, likeness: float) -> bool:
        return self.largest_growth <= growth and self.likeness <= likeness


@dataclass(frozen=True)
class Mixing:
    """A random convolution on one map size: over pixels (s, s), then over channels (c, c); scale is kept on average."""

    pixels: Array
    channels: Array

    def forward(self, x: Array) -> Array:
        mixed = (self.pixels @ x.reshape(len(self.pixels), -1)).reshape(x.shape)
        flat = mixed.swapaxes(2, 3).reshape(-1, CHANNELS)  # (p s b, k g)
        return self._unflat(flat @ self.channels, x.shape)

    def backward(self, gradient: Array) -> Array:
        flat = gradient.swapaxes(2, 3).reshape(-1, CHANNELS) @ self.channels.T
        mixed = self._unflat(flat, gradient.shape)
        return (self.pixels.T @ mixed.reshape(len(self.pixels), -1)).reshape(gradient.shape)

    def _unflat(self, flat: Array, shape: tuple[int, ...]) -> Array:
        p, s, k, b, g = shape
        return flat.reshape(p, s, b, k, g).swapaxes(2, 3)


@dataclass(frozen=True)
class ForwardPass:
    """The signal at the end of the chain, and the values inside each layer for the way back."""

    growth: float
    likeness: float
    layers: list[dict[int, Array]]


def run_forward(graph: Graph, depth: int = DEPTH, gain: float = 1.0) -> ForwardPass:
    """Runs the chain in float64; the same numbers for every graph and on every call."""
    x, _, mixings = deep_net(depth)
    v0, v1 = np.zeros((1, 1, CHANNELS_OF_GROUP, 1, GROUPS)), np.ones((1, 1, CHANNELS_OF_GROUP, 1, GROUPS))
    layers = []
    with np.errstate(all="ignore"):
        for mixing in mixings:
            layers.append(forward_small(graph, x, v0, v1))
            x = gain * mixing.forward(np.broadcast_to(layers[-1][graph.output], x.shape))
        first, last = (_rms(layer[graph.output]) for layer in (layers[0], layers[-1]))
        return ForwardPass(_growth(first, last, max(1, depth - 1)), _likeness(x), layers)


def run_backward(graph: Graph, forth: ForwardPass, gain: float = 1.0) -> float:
    """The growth of the gradient."""
    depth = len(forth.layers)
    _, gradient, mixings = deep_net(depth)
    last = math.nan
    with np.errstate(all="ignore"):
        for mixing, layer in zip(reversed(mixings), reversed(forth.layers), strict=True):
            gradient = backward_small(graph, layer, gain * mixing.backward(gradient))
            last = _rms(gradient) if math.isnan(last) else last
        return _growth(last, _rms(gradient), max(1, depth - 1))


def depth_signal(graph: Graph, depth: int = DEPTH, gain: float = 1.0) -> DepthSignal:
    """The chain forth and back."""
    forth = run_forward(graph, depth, gain)
    return DepthSignal(forth.growth, run_backward(graph, forth, gain), forth.likeness)


def reject_by_depth(graph: Graph) -> Rejected | None:
    """Turns a layer down that a deep net has no use for: straight, moving the scale, or making all samples alike.

    The verdict is that of the canonical form, so that it depends on the graph alone and graphs of one form share the
    milliseconds. Sharing by fingerprint would share more, but what one fingerprint covers may differ near the guard of
    a division, and then the verdict would depend on which of them came first.
    """
    return _verdict_on_form(simplify(graph))


@lru_cache(maxsize=100_000)
def _verdict_on_form(graph: Graph) -> Rejected | None:
    for gain in GAINS:
        forth = run_forward(graph, gain=gain)
        decided = not DepthSignal(forth.growth, 0.0, forth.likeness).within(LARGEST_GROWTH, LARGEST_LIKENESS)
        backward = math.nan if decided else run_backward(graph, forth, gain)
        signal = DepthSignal(forth.growth, backward, forth.likeness)
        if not signal.within(LARGEST_GROWTH, LARGEST_LIKENESS):
            figures = {name: figure for name, figure in asdict(signal).items() if math.isfinite(figure)}
            return Rejected(Test.DEPTH_SIGNAL, None, {"gain": gain, **figures})
    return reject_straight(graph)


@cache
def deep_net(depth: int) -> tuple[Array, Array, tuple[Mixing, ...]]:
    """Input, output gradient and convolutions. Samples differ in their maps' means too, as pictures do."""
    draw = np.random.RandomState(20200406)  # numpy promises the stream of this old generator for ever
    shape = (1, SIDE * SIDE, CHANNELS_OF_GROUP, SAMPLES, GROUPS)
    means = draw.standard_normal((1, 1, CHANNELS_OF_GROUP, SAMPLES, GROUPS))
    x = (draw.standard_normal(shape) + means) / math.sqrt(2)
    near = _near()
    mixings = []
    for _ in range(depth):
        pixels = draw.standard_normal(near.shape) * near
        pixels /= np.sqrt(np.square(pixels).sum(axis=1, keepdims=True))
        mixings.append(Mixing(pixels, draw.standard_normal((CHANNELS, CHANNELS)) / math.sqrt(CHANNELS)))
    return x, draw.standard_normal(shape), tuple(mixings)


def _near() -> Array:
    """Which pixels a 3 x 3 window around a pixel covers, zero padding around the map."""
    rows, columns = np.divmod(np.arange(SIDE * SIDE), SIDE)
    apart = np.maximum(abs(rows[:, None] - rows), abs(columns[:, None] - columns))
    return (apart <= 1).astype(float)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _growth(start: float, end: float, steps: int) -> float:
    """NaN for what died out altogether as well: there is no scale to speak of."""
    if not (0 < start < math.inf and 0 < end < math.inf):
        return math.nan
    return math.log10(end / start) / steps


def _likeness(x: Array) -> float:
    samples = np.moveaxis(x, 3, 0).reshape(SAMPLES, -1)
    if not np.isfinite(samples).all() or not samples.std(axis=1).all():
        return math.nan
    found = np.asarray(np.corrcoef(samples))
    return float(found[np.triu_indices(SAMPLES, 1)].mean())
