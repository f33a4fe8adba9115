"""The scored candidates of a run in order of arrival: the one table that figures need in memory (16 bytes a row)."""

from dataclasses import dataclass, field

import numpy as np

from evonorm.search import pareto_front


@dataclass
class Scored:
    """Growing columns; an anchor that a row lacks is NaN."""

    anchors: list[str] = field(default_factory=list)
    indices: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # of the proposals
    spent_steps: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # by the whole run until then
    table: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.float32))  # (candidates, anchors)
    frontier: list[int] = field(default_factory=list)  # rows that no other row beats; an anchor that is missing is 0

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def averages(self) -> np.ndarray:
        """(candidates,): over the anchors that a candidate has."""
        known = ~np.isnan(self.table)
        return np.where(known, self.table, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)

    def extend(self, indices: list[int], spent_steps: list[int], accuracies: list[dict[str, float]]) -> None:
        """Adds rows behind the others."""
        self.anchors += sorted({anchor for row in accuracies for anchor in row} - set(self.anchors))
        grown = np.full((len(self) + len(indices), len(self.anchors)), np.nan, np.float32)
        grown[: len(self), : self.table.shape[1]] = self.table
        for place, row in enumerate(accuracies, start=len(self)):
            grown[place] = [row.get(anchor, np.nan) for anchor in self.anchors]
        rivals = self.frontier + list(range(len(self), len(grown)))
        self.indices = np.append(self.indices, indices)
        self.spent_steps = np.append(self.spent_steps, spent_steps)
        self.table = grown
        self.frontier = [rivals[place] for place in np.flatnonzero(pareto_front(np.nan_to_num(grown[rivals])))]
