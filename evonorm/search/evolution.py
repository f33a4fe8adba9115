"""Steady-state tournament evolution (paper, section "Evolution" and appendix "Evolution")."""

from dataclasses import dataclass

import numpy as np

from evonorm.graph import Graph
from evonorm.journal import Origin, Test
from evonorm.search.population import Member, Population
from evonorm.search.proposals import different_child, fresh_graph
from evonorm.search.recipe import SearchRecipe
from evonorm.search.screening import Screen, accept_all
from evonorm.search.tournament import tournament_winner

STEPPING_STONE = Test.BENDS  # turns down what normalizes and lacks only a nonlinearity


@dataclass(frozen=True)
class Draft:
    """A graph to try and where it comes from."""

    graph: Graph
    origin: Origin
    parents: tuple[int, ...] = ()


@dataclass(frozen=True)
class Evolution:
    """With probability `fresh_share` a new random graph, else the winner of a tournament, mutated twice.

    Not in the paper: as long as the population is too small for a tournament, stepping stones may be parents too. Of
    random graphs one in ten thousand normalizes and bends; three times as many do only the first, and a mutation or two
    is all that they lack.
    """

    settings: SearchRecipe
    screen: Screen = accept_all

    def propose(self, population: Population, rng: np.random.Generator) -> Draft:
        if rng.random() < self.settings.fresh_share or not (len(population) or population.stones):
            return Draft(fresh_graph(self.settings, rng), Origin.RANDOM)
        parent = self._parent(population, rng)
        child = different_child(parent.graph, parent.function, rng, self.settings, self.screen)
        return Draft(child, Origin.MUTATION, (parent.index,))

    def _parent(self, population: Population, rng: np.random.Generator) -> Member:
        if population.stones and len(population) < self.settings.smallest_tournament:
            every = [*population.members(), *population.stones.values()]
            return every[rng.integers(len(every))]
        return tournament_winner(population, self.settings, rng)
