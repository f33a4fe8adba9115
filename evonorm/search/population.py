"""The active population: a sliding window over the latest layers that passed every test (paper, "Evolution")."""

from dataclasses import dataclass

import numpy as np

from evonorm.graph import Graph


@dataclass(frozen=True)
class Member:
    """A genotype, dead nodes included, and its accuracies in the order of the population's anchors."""

    index: int
    graph: Graph
    accuracies: tuple[float, ...]


class Population:
    """Forgets the oldest member when a new one comes in over the window. Never larger than the window."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.anchors: tuple[str, ...] = ()
        self.added = 0
        self._members: list[Member] = []  # a ring: the place of a new one is added % window
        self._scores = np.empty((window, 0))

    def __len__(self) -> int:
        return len(self._members)

    def add(self, index: int, graph: Graph, accuracies: dict[str, float]) -> None:
        if not self.anchors:
            self.anchors = tuple(sorted(accuracies))
            self._scores = np.zeros((self.window, len(self.anchors)))
        if tuple(sorted(accuracies)) != self.anchors:
            raise ValueError(f"candidate {index} has scores on {sorted(accuracies)}, the population on {self.anchors}.")
        member = Member(index, graph, tuple(accuracies[anchor] for anchor in self.anchors))
        place = self.added % self.window
        self._members[place : place + 1] = [member]
        self._scores[place] = member.accuracies
        self.added += 1

    def __getitem__(self, place: int) -> Member:
        return self._members[place]

    def scores(self, places: np.ndarray) -> np.ndarray:
        """The accuracies of the members at these places, a row each."""
        return self._scores[places]

    def members(self) -> list[Member]:
        """From the oldest to the newest."""
        start = self.added % self.window if len(self) == self.window else 0
        return self._members[start:] + self._members[:start]
