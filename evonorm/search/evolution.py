"""Steady-state tournament evolution (paper, section "Evolution" and appendix "Evolution")."""

from dataclasses import dataclass

import numpy as np

from evonorm.graph import Graph
from evonorm.search.population import Population
from evonorm.search.proposals import Fingerprint, different_child, fresh_graph, no_fingerprint
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
    fingerprint: Fingerprint = no_fingerprint

    def propose(self, population: Population, rng: np.random.Generator) -> Draft:
        if rng.random() < self.settings.fresh_share or not len(population):
            return Draft(fresh_graph(self.settings, rng), "random")
        parent = tournament_winner(population, self.settings, rng)
        child = different_child(parent.graph, parent.function, rng, self.settings, self.fingerprint)
        return Draft(child, "mutation", (parent.index,))
