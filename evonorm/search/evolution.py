"""Steady-state tournament evolution (paper, section "Evolution" and appendix "Evolution")."""

from dataclasses import dataclass

import numpy as np

from evonorm.graph import Graph, mutate, sample_graph
from evonorm.search.population import Population
from evonorm.search.settings import SearchSettings
from evonorm.search.tournament import tournament_winner


@dataclass(frozen=True)
class Draft:
    """A graph to try and where it comes from."""

    graph: Graph
    origin: str
    parents: tuple[int, ...] = ()


@dataclass(frozen=True)
class Evolution:
    """With probability `fresh_share` a new random graph, else the winner of a tournament, mutated twice."""

    settings: SearchSettings

    def propose(self, population: Population, rng: np.random.Generator) -> Draft:
        if rng.random() < self.settings.fresh_share or not len(population):
            return Draft(sample_graph(rng, self.settings.nodes, self.settings.batch_ops), "random")
        parent = tournament_winner(population, self.settings, rng)
        child = parent.graph
        for _ in range(self.settings.mutations):
            child = mutate(child, rng, self.settings.batch_ops)
        return Draft(child, "mutation", (parent.index,))
