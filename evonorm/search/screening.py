"""What is known of a graph before a worker sees it: whether it is turned down at once, and which function it is."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evonorm.graph import Graph
from evonorm.journal import Rejected, Test

Signature = NDArray[np.floating]  # of length one; the product of two is how alike they are


@dataclass(frozen=True)
class Screened:
    """A rejection if there is one; the fingerprint, equal for equal functions, of what passed the free checks.

    The signature tells how alike two functions are; it is there if the search goes by it.
    """

    rejected: Rejected | None = None
    fingerprint: str | None = None
    signature: Signature | None = field(default=None, compare=False, repr=False)


Screen = Callable[[Graph], Screened]


def accept_all(_: Graph) -> Screened:
    return Screened()


def reject_by_form(graph: Graph, batch_ops: bool = True) -> Rejected | None:
    """By a look at the graph alone: 68 % of random ones do not read x, so that a net with them cannot see the image.

    Without `batch_ops` (the S series) a live moment over the batch is turned down too.
    """
    if not graph.reads("x"):
        return Rejected(Test.READS_X, None)
    if not batch_ops and graph.batch_moments:
        return Rejected(Test.NO_BATCH_MOMENT, None, {"nodes": list(graph.batch_moments)})
    return None
