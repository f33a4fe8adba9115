"""Random search with the same rejection: the paper's baseline ("RS + rej")."""

from dataclasses import dataclass

import numpy as np

from evonorm.journal import Origin
from evonorm.search.evolution import Draft
from evonorm.search.population import Population
from evonorm.search.proposals import fresh_graph
from evonorm.search.recipe import SearchRecipe


@dataclass(frozen=True)
class RandomSearch:
    """Every proposal is a new random graph; the population is kept for the record and never looked at."""

    settings: SearchRecipe

    def propose(self, population: Population, rng: np.random.Generator) -> Draft:  # noqa: ARG002 (Evolution's face)
        return Draft(fresh_graph(self.settings, rng), Origin.RANDOM)
