"""Which layers were trained already, nearly: a child that does what another does tells nothing new. Not in the paper.

In the first round's search half of all trained children were clones of their parent, and their scores differed by noise
alone.
"""

import numpy as np

from evonorm.journal import Rejected, Test
from evonorm.search.screening import Signature


class Clones:
    """The signatures of what was scored or is in training.

    `most_alike` is the largest likeness to any of them that a new one may have; 0 lets everything pass.
    """

    def __init__(self, most_alike: float) -> None:
        self.most_alike = most_alike
        self._candidates: list[int] = []
        self._signatures = np.zeros((0, 0), np.float32)  # a row each, and room for more

    def add(self, index: int, signature: Signature | None) -> None:
        if not self.most_alike or signature is None:
            return
        count = len(self._candidates)
        if count == len(self._signatures):
            grown = np.zeros((max(64, 2 * count), len(signature)), np.float32)
            grown[:count, : self._signatures.shape[1]] = self._signatures
            self._signatures = grown
        self._signatures[count] = signature
        self._candidates.append(index)

    def drop(self, index: int) -> None:
        """Of a candidate that was turned down or broke; the last row takes its place."""
        if index not in self._candidates:
            return
        row = self._candidates.index(index)
        last = self._candidates.pop()
        if row < len(self._candidates):
            self._candidates[row] = last
            self._signatures[row] = self._signatures[len(self._candidates)]

    def turn_down(self, signature: Signature | None) -> Rejected | None:
        """A rejection that names whom it is too like; None for something new."""
        if not self.most_alike or signature is None or not self._candidates:
            return None
        alike = np.abs(self._signatures[: len(self._candidates)] @ signature)
        row = int(alike.argmax())
        if alike[row] <= self.most_alike:
            return None
        return Rejected(Test.CLONE, None, {"like": self._candidates[row], "likeness": round(float(alike[row]), 4)})
