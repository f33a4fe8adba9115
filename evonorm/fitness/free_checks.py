"""Turns hopeless graphs down in about a millisecond, before anything trains. Every rejection names its check.

None of this is in the paper, whose cheapest test is 100 training steps: nine of ten random graphs fail here.
"""

from functools import cache, lru_cache

import numpy as np

from evonorm.graph import Graph
from evonorm.journal import Rejected, Test
from evonorm.kernels import Probes, Response, fingerprint, respond, run_small
from evonorm.search import Screened, reject_by_form

SMALLEST_VARIATION = 1e-6  # within a map, as a share of the largest output
SMALLEST_GRADIENT = 1e-9  # the largest one on the probes, for output gradients around one
HARD_INPUTS = ("zeros", "scale 1e4", "one bright pixel", "batch of one")


@lru_cache(maxsize=64)  # a search asks again for the child that it settles on
def screen(graph: Graph, batch_ops: bool = True) -> Screened:
    """Every free check, the cheapest first, and the fingerprint of what is left."""
    if rejected := reject_by_form(graph, batch_ops):
        return Screened(rejected)
    response = respond(graph)
    if rejected := reject_by_response(response) or reject_on_hard_inputs(graph):
        return Screened(rejected)
    return Screened(None, fingerprint(graph, response))


def reject_by_response(response: Response) -> Rejected | None:
    """On ordinary inputs: finite, not the same at every pixel of every map, and a gradient comes back."""
    if not response.finite:
        return Rejected(Test.FINITE, None)
    largest = float(np.abs(response.output).max())
    variation = float(np.ptp(response.output, axis=1).max())
    if not variation > SMALLEST_VARIATION * largest:
        return Rejected(Test.VARIES_OVER_SPACE, None, {"variation": variation, "largest_output": largest})
    gradient = float(np.abs(response.gradient).max())
    if not gradient > SMALLEST_GRADIENT:
        return Rejected(Test.GRADIENT, None, {"largest_gradient": gradient})
    return None


def reject_on_hard_inputs(graph: Graph) -> Rejected | None:
    """In float32, as nets train: output and gradient stay finite on inputs that training may meet."""
    for what, values in zip(("output", "gradient"), run_small(graph, hard_inputs()), strict=True):
        finite = np.isfinite(values).all(axis=(1, 2, 3, 4))  # (p,), or (1,) where no input matters
        if not finite.all():
            figures = {"input": HARD_INPUTS[int(finite.argmin())], "what": what}
            return Rejected(Test.FINITE_ON_HARD_INPUTS, None, figures)
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
