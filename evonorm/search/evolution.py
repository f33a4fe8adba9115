"""Steady-state tournament evolution (paper, section "Evolution" and appendix "Evolution")."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evonorm.graph import Graph
from evonorm.journal import Origin, Test
from evonorm.search.population import Member, Population
from evonorm.search.proposals import fresh_graph, new_child
from evonorm.search.recipe import SearchRecipe
from evonorm.search.screening import Screen, Screened, accept_all
from evonorm.search.tournament import tournament_winner

STEPPING_STONE = Test.BENDS  # turns down what normalizes and lacks only a nonlinearity


@dataclass(frozen=True)
class Draft:
    """A graph to try and where it comes from."""

    graph: Graph
    origin: Origin
    parents: tuple[int, ...] = ()


def nothing_is_known(_: Screened) -> bool:
    return False


@dataclass(frozen=True)
class Evolution:
    """With probability `fresh_share` a new random graph, else the winner of a tournament, mutated twice.

    Not in the paper: as long as the population is too small for a tournament, stepping stones may be parents too, and
    `stone_share` of the parents for ever. Of random graphs one in ten thousand normalizes and bends; three times as
    many do only the first, and a mutation or two is all that they lack.
    A child that is its parent's function again, or that `is_known`, is drawn anew as often as the recipe says.
    """

    settings: SearchRecipe
    screen: Screen = accept_all
    is_known: Callable[[Screened], bool] = nothing_is_known

    def propose(self, population: Population, rng: np.random.Generator) -> Draft:
        if rng.random() < self.settings.fresh_share or not (len(population) or population.stones):
            return Draft(fresh_graph(self.settings, rng), Origin.RANDOM)
        parent = self._parent(population, rng)

        def is_new(child: Graph) -> bool:
            found = self.screen(child)
            return found.fingerprint != parent.function and not self.is_known(found)

        child, origin = new_child(parent.graph, rng, self.settings, is_new)
        return Draft(child, origin, (parent.index,))

    def _parent(self, population: Population, rng: np.random.Generator) -> Member:
        if population.stones and len(population) < self.settings.smallest_tournament:
            every = [*population.members(), *population.stones.values()]
            return every[rng.integers(len(every))]
        if population.stones and self.settings.stone_share and rng.random() < self.settings.stone_share:
            stones = list(population.stones.values())
            return stones[rng.integers(len(stones))]
        return tournament_winner(population, self.settings, rng)
