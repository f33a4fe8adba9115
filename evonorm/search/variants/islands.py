"""Several populations that never mix: searches with other founders in one run. Not in the paper.

Runs differ by their founder more than by anything that comes after it. A candidate's island is its number modulo the
number of islands, so nothing about it has to be remembered.
"""

from evonorm.search.population import Cost, Population
from evonorm.search.recipe import SearchRecipe


class Islands:
    """The populations of a search; with one island, the paper's single one."""

    def __init__(self, settings: SearchRecipe, cost: Cost | None = None) -> None:
        self.populations = tuple(
            Population(settings.window, settings.genotypes_per_function, cost, settings.family_likeness)
            for _ in range(settings.islands)
        )

    def __len__(self) -> int:
        return len(self.populations)

    def of(self, index: int) -> Population:
        """The population that this candidate belongs to."""
        return self.populations[index % len(self.populations)]

    @property
    def anchors(self) -> tuple[str, ...]:
        """What members have scores on; () as long as there are none."""
        return next((each.anchors for each in self.populations if each.anchors), ())

    def is_elite(self, average: float) -> bool:
        """Whether this average would be among the best tenth of any island."""
        return any(each.is_elite(average) for each in self.populations)

    def rescore(self, function: str, accuracies: dict[str, float]) -> None:
        for each in self.populations:
            each.rescore(function, accuracies)
