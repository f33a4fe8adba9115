"""The screen of a search: what the recipe has asked of a graph in the driver, before any worker sees it."""

from evonorm.fitness.depth_signal import reject_by_depth
from evonorm.fitness.free_checks import screen
from evonorm.graph import Graph
from evonorm.kernels import signature
from evonorm.search import Screen, Screened, SearchRecipe, reject_by_form


def create_screen(settings: SearchRecipe) -> Screen:
    """By form alone, as the paper's would be; or every free check, and what a deep net has no use for."""

    by_likeness = settings.most_alike or settings.family_likeness

    def by_form(graph: Graph) -> Screened:
        return Screened(reject_by_form(graph, settings.batch_ops))

    def by_checks(graph: Graph) -> Screened:
        found = screen(graph, settings.batch_ops)
        if found.rejected:
            return found
        rejected = reject_by_depth(graph) if settings.depth_check else None
        return Screened(rejected, found.fingerprint, signature(graph) if by_likeness else None)

    return by_checks if settings.free_checks else by_form
