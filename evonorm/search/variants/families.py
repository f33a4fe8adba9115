"""Members of a population that are alike share their scores: each is a measurement of one idea. Not in the paper.

A tournament over single scores goes by who was lucky; the mean over a family is what the idea is worth.
"""

import numpy as np
from numpy.typing import NDArray

from evonorm.search.screening import Signature


class Families:
    """The signatures of a population's members, by their places."""

    def __init__(self, window: int, alike: float) -> None:
        self.alike = alike
        self._signatures: list[Signature | None] = [None] * window

    def put(self, place: int, signature: Signature | None) -> None:
        self._signatures[place] = signature

    def means(self, scores: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
        """For the member at each of these places the mean over all members that are like it, itself included."""
        return np.array([scores[self._family_of(int(place), len(scores))].mean(axis=0) for place in places])

    def _family_of(self, place: int, count: int) -> list[int]:
        mine = self._signatures[place]
        if mine is None:
            return [place]
        others = enumerate(self._signatures[:count])
        return [i for i, each in others if i == place or (each is not None and abs(float(mine @ each)) >= self.alike)]
