"""What can be turned down by looking at the graph alone."""

from evonorm.graph import Graph
from evonorm.journal import Rejected


def reject_without_training(graph: Graph, batch_ops: bool = True) -> Rejected | None:
    """A graph whose output does not depend on x (68 % of random ones) makes a net that cannot see the image."""
    if not graph.reads("x"):
        return Rejected("free:reads-x", None)
    if not batch_ops and graph.batch_moments:
        return Rejected("free:no-batch-moment", None, {"nodes": list(graph.batch_moments)})
    return None
