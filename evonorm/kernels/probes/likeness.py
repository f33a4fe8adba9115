"""How alike two layers are before any training, up to what the affine behind them can undo.

Two graphs with another fingerprint may still be one idea: x * sigmoid(x + c) / std(x) for any constant c. Where one of
them was trained, training the other tells next to nothing new.
"""

from functools import cache, lru_cache

import numpy as np

from evonorm.graph import Array, Graph
from evonorm.kernels.probes.fingerprint import probe_batches
from evonorm.kernels.probes.small_arrays import Probes, run_small

GROUPS_KEPT = 8  # of 32: 48 channels of 27 values tell layers apart as well as all of them
FAMILY = 0.95  # likeness from which on layers are one family: BN-ReLU and BN-SiLU have 0.96, BN-ReLU and B2 0.87


@lru_cache(maxsize=1024)  # 10 kB each; a search asks again for the child that it settles on, a live page for its best
def signature(graph: Graph) -> Array:
    """Output and input gradient on the probe batches with v0 = 0 and v1 = 1, as in a fresh model: a vector of length 1.

    Every channel of every batch is centred and scaled by itself, since gamma and beta could do that too; a channel that
    is flat or not finite counts as nothing.
    """
    probes = _fresh_probes()
    output, gradient = run_small(graph, probes)
    halves = _standardized(np.broadcast_to(output, probes.x.shape)), _standardized(gradient)
    return (np.concatenate(halves) / np.sqrt(2)).astype(np.float32)


def likeness(one: Array, other: Array) -> float:
    """Of two signatures: 1 for layers that an affine per channel can turn into each other, about 0 for strangers."""
    return abs(float(one @ other))


@cache
def _fresh_probes() -> Probes:
    """The probe batches with the parameters of a fresh layer."""
    probes = probe_batches()
    return Probes(probes.x, np.zeros_like(probes.v0), np.ones_like(probes.v1), probes.output_gradient)


def _standardized(values: Array) -> Array:
    """Channel by channel (p, k, g), over pixels and samples; of length 1 in all, or 0 where nothing is left."""
    with np.errstate(all="ignore"):
        kept = values[..., :GROUPS_KEPT]  # (p, s, k, b, g)
        centred = kept - kept.mean(axis=(1, 3), keepdims=True)
        scaled = centred / np.sqrt(np.square(centred).sum(axis=(1, 3), keepdims=True))
    flat = np.nan_to_num(scaled, nan=0.0, posinf=0.0, neginf=0.0).ravel()
    size = float(np.sqrt(np.square(flat).sum()))
    return flat / size if size else flat
