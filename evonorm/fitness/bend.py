"""Whether a layer bends: a straight line within every map leaves a net nothing but its moments to be nonlinear with.

Such layers learn on a shallow net, where a normalization is worth a lot, and stay behind on a deep one: the paper's
table of structural changes has two of them ("No v1 x", "No local term"). Not in the paper as a test; docs/lab_log.md
has what the straight ones reach on the CIFAR anchors.
"""

import numpy as np

from evonorm.graph import Graph
from evonorm.journal import Rejected, Test
from evonorm.kernels import forward_small, probe_batches

SMALLEST_BEND = 1e-6  # of 3200 random layers and mutants none lies between 1e-8 and 1e-3; layers with a name have 0.22


def reject_straight(graph: Graph) -> Rejected | None:
    """Turns a layer down whose output is an affine function of x within each map of each sample."""
    found = bend(graph)
    return None if found > SMALLEST_BEND else Rejected(Test.BENDS, None, {"bend": found})


def bend(graph: Graph) -> float:
    """The share of the output's deviation within maps that no straight line explains, on the probe batch with most."""
    probes = probe_batches()
    with np.errstate(all="ignore"):
        output = forward_small(graph, probes.x, probes.v0, probes.v1)[graph.output]
        output = output / np.abs(output).max(axis=(1, 2, 3, 4), keepdims=True)  # lest squares overflow
        x, y = (each - each.mean(axis=1, keepdims=True) for each in (probes.x, np.broadcast_to(output, probes.x.shape)))
        slope = (x * y).sum(axis=1, keepdims=True) / np.square(x).sum(axis=1, keepdims=True)
        left, whole = (np.square(each).sum(axis=(1, 2, 3, 4)) for each in (y - slope * x, y))
    return float(np.sqrt(np.divide(left, whole, out=np.zeros_like(left), where=whole > 0)).max())
