"""Turns hopeless graphs down in about a millisecond, before anything trains. Every rejection names its check.

None of this is in the paper, whose cheapest test is 100 training steps: nine of ten random graphs fail here.
"""

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from evonorm.graph import Graph
from evonorm.journal import Rejected
from evonorm.kernels import Probes, Response, fingerprint, respond, run_small

READS_X = "free:reads-x"
NO_BATCH_MOMENT = "free:no-batch-moment"
FINITE = "free:finite"
VARIES_OVER_SPACE = "free:varies-over-space"
GRADIENT = "free:gradient"
FINITE_ON_HARD_INPUTS = "free:finite-on-hard-inputs"
FREE_CHECKS = (READS_X, NO_BATCH_MOMENT, FINITE, VARIES_OVER_SPACE, GRADIENT, FINITE_ON_HARD_INPUTS)

SMALLEST_VARIATION = 1e-6  # within a map, as a share of the largest output
SMALLEST_GRADIENT = 1e-9  # the largest one on the probes, for output gradients around one
HARD_INPUTS = ("zeros", "scale 1e4", "one bright pixel", "batch of one")


@dataclass(frozen=True)
class Screened:
    """A rejection, or the fingerprint of a graph that is worth training."""

    rejected: Rejected | None
    fingerprint: str | None


@lru_cache(maxsize=64)  # a search asks for the rejection and for the fingerprint
def screen(graph: Graph, batch_ops: bool = True) -> Screened:
    """Every free check, the cheapest first, and the fingerprint of what is left."""
    if rejected := reject_by_form(graph, batch_ops):
        return Screened(rejected, None)
    response = respond(graph)
    if rejected := reject_by_response(response) or reject_on_hard_inputs(graph):
        return Screened(rejected, None)
    return Screened(None, fingerprint(graph, response))


def reject_by_form(graph: Graph, batch_ops: bool = True) -> Rejected | None:
    """The live graph must read x, and without `batch_ops` (the S series) hold no moment over the batch."""
    if not graph.reads("x"):
        return Rejected(READS_X, None)
    if not batch_ops and graph.batch_moments:
        return Rejected(NO_BATCH_MOMENT, None, {"nodes": list(graph.batch_moments)})
    return None


def reject_by_response(response: Response) -> Rejected | None:
    """On ordinary inputs: finite, not the same at every pixel of every map, and a gradient comes back."""
    if not response.finite:
        return Rejected(FINITE, None)
    largest = float(np.abs(response.output).max())
    variation = float(np.ptp(response.output, axis=1).max())
    if not variation > SMALLEST_VARIATION * largest:
        return Rejected(VARIES_OVER_SPACE, None, {"variation": variation, "largest_output": largest})
    gradient = float(np.abs(response.gradient).max())
    if not gradient > SMALLEST_GRADIENT:
        return Rejected(GRADIENT, None, {"largest_gradient": gradient})
    return None


def reject_on_hard_inputs(graph: Graph) -> Rejected | None:
    """In float32, as nets train: output and gradient stay finite on inputs that training may meet."""
    for what, values in zip(("output", "gradient"), run_small(graph, hard_inputs()), strict=True):
        finite = np.isfinite(values).all(axis=(1, 2, 3, 4))  # (p,), or (1,) where no input matters
        if not finite.all():
            return Rejected(FINITE_ON_HARD_INPUTS, None, {"input": HARD_INPUTS[int(finite.argmin())], "what": what})
    return None


@cache
def hard_inputs() -> Probes:
    """The hard inputs side by side. A batch of one is a sample repeated: its moments over the batch are the same."""
    draw = np.random.RandomState(20200406)  # numpy promises the stream of this old generator for ever
    pixels, channels_of_group, samples, groups = 9, 2, 2, 4
    normal = draw.standard_normal((pixels, channels_of_group, samples, groups))
    bright = np.zeros_like(normal)
    bright[0, 0, 0, 0] = 1e3
    alone = np.repeat(normal[:, :, :1], samples, axis=2)
    x = np.stack((np.zeros_like(normal), 1e4 * normal, bright, alone), axis=0)  # (p, s, k, b, g)
    v0, v1 = draw.standard_normal((2, len(HARD_INPUTS), 1, channels_of_group, 1, groups))
    return Probes(*(each.astype(np.float32) for each in (x, v0, v1, draw.standard_normal(x.shape))))
