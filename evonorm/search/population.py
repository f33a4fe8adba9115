"""The active population: a sliding window over the latest layers that passed every test (paper, "Evolution")."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evonorm.graph import Graph
from evonorm.search.screening import Signature
from evonorm.search.variants.families import Families

ELITE_QUANTILE = 0.9

Cost = Callable[[Graph], float]  # what a layer costs whoever uses it, from its graph alone: less is better


@dataclass(frozen=True)
class Member:
    """A genotype, dead nodes included, and its accuracies in the order of the population's anchors."""

    index: int
    graph: Graph
    accuracies: tuple[float, ...]
    function: str | None = None  # its fingerprint


class Population:
    """Forgets the oldest member when a new one comes in over the window. Never larger than the window.

    With `genotypes_per_function` above 0 no function has more members than that: another one of it takes the place of
    its oldest and drives nobody else out. Otherwise one good function fills the window, since its duplicates are free.
    Beside the population lie the latest stepping stones: not worth a training, but worth a mutation.
    With a `cost`, a cheap member that is less accurate may still be on the frontier. With a `family_likeness` a member
    stands in a tournament with the mean of all that are so like it.
    """

    def __init__(
        self, window: int, genotypes_per_function: int = 0, cost: Cost | None = None, family_likeness: float = 0.0
    ) -> None:
        self.window = window
        self.genotypes_per_function = genotypes_per_function
        self.anchors: tuple[str, ...] = ()
        self.added = 0
        self.stones: dict[str | None, Member] = {}  # by function, the oldest first
        self._members: list[Member] = []  # a ring: the place of a new one is added % window
        self._places: dict[str, set[int]] = {}  # of the members that are a function
        self._scores = np.empty((window, 0))
        self._cost = cost
        self._costs = np.zeros((window, 1 if cost else 0))
        self._families = Families(window, family_likeness) if family_likeness else None

    def add_stone(self, index: int, graph: Graph, function: str | None) -> None:
        """One of each function: most mutants of a stone are the same stone again."""
        self.stones.pop(function, None)
        self.stones[function] = Member(index, graph, (), function)
        if len(self.stones) > self.window:
            del self.stones[next(iter(self.stones))]

    def __len__(self) -> int:
        return len(self._members)

    def add(
        self,
        index: int,
        graph: Graph,
        accuracies: dict[str, float],
        function: str | None = None,
        signature: Signature | None = None,
    ) -> None:
        if not self.anchors:
            self.anchors = tuple(sorted(accuracies))
            self._scores = np.zeros((self.window, len(self.anchors)))
        if tuple(sorted(accuracies)) != self.anchors:
            raise ValueError(f"candidate {index} has scores on {sorted(accuracies)}, the population on {self.anchors}.")
        member = Member(index, graph, self._row(accuracies), function)
        place = self._crowded_place(function)
        if place is None:
            place = self.added % self.window
            self.added += 1
        self._put(place, member)
        if self._families:
            self._families.put(place, signature)

    def _put(self, place: int, member: Member) -> None:
        if place < len(self._members) and (before := self._members[place].function) is not None:
            self._places[before].remove(place)
            if not self._places[before]:
                del self._places[before]
        if member.function is not None:
            self._places.setdefault(member.function, set()).add(place)
        self._members[place : place + 1] = [member]
        self._scores[place] = member.accuracies
        if self._cost:
            self._costs[place] = self._cost(member.graph)

    def _crowded_place(self, function: str | None) -> int | None:
        """The place of this function's oldest member, if the function may have no more of them."""
        if not self.genotypes_per_function or function is None:
            return None
        same = self._places.get(function, set())
        if len(same) < self.genotypes_per_function:
            return None
        return min(same, key=lambda place: self._members[place].index)

    def _row(self, accuracies: dict[str, float]) -> tuple[float, ...]:
        return tuple(accuracies[anchor] for anchor in self.anchors)

    def rescore(self, function: str, accuracies: dict[str, float]) -> None:
        """Gives every member that is this function what is now known of it."""
        for place in tuple(self._places.get(function, ())):
            self._put(place, replace(self._members[place], accuracies=self._row(accuracies)))

    def is_elite(self, average: float) -> bool:
        """Whether this average would be among the best tenth."""
        if not len(self):
            return False
        averages = self._scores[: len(self)].mean(axis=1)
        return average >= float(np.quantile(averages, ELITE_QUANTILE))

    def __getitem__(self, place: int) -> Member:
        return self._members[place]

    def scores(self, places: np.ndarray) -> np.ndarray:
        """The accuracies of the members at these places, a row each; where families count, those of their families."""
        return self._families.means(self._scores[: len(self)], places) if self._families else self._scores[places]

    def objectives(self, places: np.ndarray) -> np.ndarray:
        """What the frontier is over, a row each, more is better: accuracies and, where it counts, minus the cost."""
        accuracies = self.scores(places)
        return accuracies if self._cost is None else np.hstack([accuracies, -self._costs[places]])

    def members(self) -> list[Member]:
        """From the oldest to the newest."""
        start = self.added % self.window if len(self) == self.window else 0
        return self._members[start:] + self._members[:start]
