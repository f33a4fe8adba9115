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
    # Not in the paper, and off unless a recipe asks for it:
    generator: Literal["paper", "live"] = "paper"  # "live" draws random graphs that let x through
    free_checks: bool = False  # turns down in a millisecond what cannot work; the next two need it
    attempts: int = 1  # draws of a child until it is another function than its parent
    runs_per_function: int = 0  # equal functions share one score, the best tenth's averaged over up to so many runs

    def __post_init__(self) -> None:
        for name in ("window", "smallest_tournament", "mutations", "nodes", "lag", "attempts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if not 0 < self.tournament_share <= 1:
            raise ValueError(f"tournament_share must lie above 0 and not above 1, got {self.tournament_share}.")
        if not 0 <= self.fresh_share <= 1:
            raise ValueError(f"fresh_share must lie in 0 to 1, got {self.fresh_share}.")
        if self.runs_per_function < 0:
            raise ValueError(f"runs_per_function must not be negative (0 trains all), got {self.runs_per_function}.")
        if not self.free_checks and (self.attempts > 1 or self.runs_per_function > 0):
            raise ValueError("attempts above 1 and runs_per_function above 0 need free_checks = true.")
