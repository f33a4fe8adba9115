"""The functional fingerprint of a graph: equal functions get equal text, whatever their nodes look like.

Output and input gradient in float64 on fixed probe batches, every number rounded to a few bits, hashed. It compares
layers in training mode, up to differences of 2**-12: a graph that differs from another by an epsilon under a root
counts as the same layer, for scores could not tell them apart either.
"""

import hashlib
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from evonorm.graph import Array, Graph, canonical_key
from evonorm.kernels.probes.small_arrays import Probes, run_small

VERSION = 1  # part of every fingerprint: raise it with anything that changes one
MANTISSA_BITS = 12
FLOOR = 1e-7  # smaller numbers count as zero, both as such and as a share of the largest one
# 64 channels in 32 groups: at two channels a group the four index sets of a moment are four different sets.
PIXELS, CHANNELS_OF_GROUP, SAMPLES, GROUPS = 9, 2, 3, 32
# A row per probe batch. Shifts of a whole batch matter: without them a mean over all channels is next to zero, and what
# it does inside a max would never be seen.
SCALES, OFFSETS, SHIFTS = (1.0, 0.2, 3.0), (0.3, 1.0, 2.0), (0.0, 2.0, -3.0)
V0_SHIFTS, V1_SHIFTS = (2.0, -2.0, 0.0), (0.0, 3.0, -2.0)


@dataclass(frozen=True)
class Response:
    """What a graph does on the probe batches: output and gradient to x, both shaped as x (p, s, k, b, g)."""

    output: Array
    gradient: Array

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.output).all() and np.isfinite(self.gradient).all())


def respond(graph: Graph) -> Response:
    """The graph's response to the probe batches."""
    probes = probe_batches()
    output, gradient = run_small(graph, probes)
    return Response(np.broadcast_to(output, probes.x.shape), gradient)


def fingerprint(graph: Graph, response: Response | None = None) -> str:
    """Text such as `1-5be0c1…` that equal layers share; a response that is already there saves the time for it."""
    response = response or respond(graph)
    digest = hashlib.blake2b(digest_size=16)
    digest.update(_rounded(response.output).tobytes())
    digest.update(_rounded(response.gradient).tobytes())
    if not np.isfinite(response.output).any():
        digest.update(canonical_key(graph).encode())  # nothing but NaN says nothing: such graphs differ by their form
    return f"{VERSION}-{digest.hexdigest()}"


def _rounded(values: Array) -> NDArray[np.int32]:
    """Sign, exponent and the leading bits of the mantissa, rounded to nearest; one pattern for every NaN."""
    values = values.reshape(len(values), -1)  # (p, numbers)
    sizes = np.abs(values)
    known = np.isfinite(sizes)
    largest = sizes.max(axis=1, keepdims=True, where=known, initial=0.0)
    dropped = 52 - MANTISSA_BITS
    kept = (values.view(np.int64) + (1 << (dropped - 1))) >> dropped
    kept[sizes < FLOOR * np.maximum(largest, 1.0)] = 0
    kept[np.isnan(values)] = -1
    return kept.astype(np.int32)


@cache
def probe_batches() -> Probes:
    """The batches: every map has its own scale and offset around those of its batch."""
    draw = np.random.RandomState(20200406)  # numpy promises the stream of this old generator for ever
    scales, offsets, shifts, v0_shifts, v1_shifts = (
        np.reshape(each, (-1, 1, 1, 1, 1)) for each in (SCALES, OFFSETS, SHIFTS, V0_SHIFTS, V1_SHIFTS)
    )
    maps = (len(SCALES), 1, CHANNELS_OF_GROUP, SAMPLES, GROUPS)
    pixels = draw.standard_normal((len(SCALES), PIXELS, CHANNELS_OF_GROUP, SAMPLES, GROUPS))
    spread = scales * np.exp(0.4 * draw.standard_normal(maps))
    centre = shifts + offsets * draw.standard_normal(maps)
    v0, v1 = draw.standard_normal((2, len(SCALES), 1, CHANNELS_OF_GROUP, 1, GROUPS))
    return Probes(pixels * spread + centre, v0 + v0_shifts, v1 + v1_shifts, draw.standard_normal(pixels.shape))
