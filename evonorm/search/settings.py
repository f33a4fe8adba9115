"""The recipe's [search] table. The defaults are the paper's (appendix "Evolution")."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class SearchSettings:
    """How the next graph is chosen, and what it may know of the others."""

    method: Literal["evolution", "random"] = "evolution"
    window: int = 2500  # the population is the most recent of those that passed both tests
    tournament_share: float = 0.05  # of the active population
    smallest_tournament: int = 1  # for populations of which the share is next to nothing
    criterion: Literal["pareto", "average"] = "pareto"
    mutations: int = 2  # of the winner
    fresh_share: float = 0.5  # of offspring that are replaced by a new random graph
    nodes: int = 10
    batch_ops: bool = True  # False is the S experiment: no moment over the batch
    order: Literal["strict", "arrival"] = "strict"
    lag: int = 8  # strict order: how many candidates may be in training at once

    def __post_init__(self) -> None:
        for name in ("window", "smallest_tournament", "mutations", "nodes", "lag"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if not 0 < self.tournament_share <= 1:
            raise ValueError(f"tournament_share must lie above 0 and not above 1, got {self.tournament_share}.")
        if not 0 <= self.fresh_share <= 1:
            raise ValueError(f"fresh_share must lie in 0 to 1, got {self.fresh_share}.")
