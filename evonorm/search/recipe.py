"""The recipe's [search] table. The defaults are the paper's (appendix "Evolution")."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class SearchRecipe:
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
    free_checks: bool = False  # turns down in a millisecond what cannot work; all below need it
    depth_check: bool = False  # turns down what a deep net has no use for: straight, or losing scale or signal
    attempts: int = 1  # draws of a child until it is another function than its parent
    runs_per_function: int = 0  # equal functions share one score, the best tenth's averaged over up to so many runs
    genotypes_per_function: int = 0  # of one function in the population at once; a new one takes the oldest's place
    paired_seeds: bool = False  # the k-th run of every function has the same seed, so that differences have less noise
    most_alike: float = 0.0  # likeness to what was trained from which on a candidate is a clone; 0 trains clones
    family_likeness: float = 0.0  # from which on members share the mean of their scores in a tournament; 0: none do
    stone_share: float = 0.0  # of parents that are stepping stones, however large the population: founders for ever
    local_share: float = 0.0  # of children with one change at a live node in place of the paper's mutations
    islands: int = 1  # populations that never mix
    cost: Literal["none", "nodes", "instructions"] = "none"  # a further objective of the tournament: less is better

    def __post_init__(self) -> None:
        for name in ("window", "smallest_tournament", "mutations", "nodes", "lag", "attempts", "islands"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if not 0 < self.tournament_share <= 1:
            raise ValueError(f"tournament_share must lie above 0 and not above 1, got {self.tournament_share}.")
        for name in ("fresh_share", "most_alike", "family_likeness", "stone_share", "local_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in 0 to 1, got {getattr(self, name)}.")
        if self.runs_per_function < 0:
            raise ValueError(f"runs_per_function must not be negative (0 trains all), got {self.runs_per_function}.")
        if self.genotypes_per_function < 0:
            raise ValueError(
                f"genotypes_per_function must not be negative (0 is any number), got {self.genotypes_per_function}."
            )
        if self.cost != "none" and self.criterion != "pareto":
            raise ValueError(f'cost = "{self.cost}" needs criterion = "pareto", got {self.criterion!r}.')
        if not self.free_checks and (needing := self._needs_checks()):
            raise ValueError(f"{', '.join(needing)} need free_checks = true, since they go by what the checks find.")

    def _needs_checks(self) -> list[str]:
        """The settings away from their default that go by fingerprints or come after the checks."""
        asked = {
            "attempts": self.attempts > 1,
            "runs_per_function": self.runs_per_function > 0,
            "genotypes_per_function": self.genotypes_per_function > 0,
            "depth_check": self.depth_check,
            "paired_seeds": self.paired_seeds,
            "most_alike": self.most_alike > 0,
            "family_likeness": self.family_likeness > 0,
            "stone_share": self.stone_share > 0,
        }
        return [name for name, is_asked in asked.items() if is_asked]
