"""How high the next candidate must reach on each rung of the ladder: a percentile of those before it."""

from collections import defaultdict, deque

import numpy as np

from evonorm.journal import Outcome

FEWEST = 10  # candidates on a rung before its hurdle counts
RUNG = "rung "  # how the names of a ladder's stages begin; the number of the rung follows


class Hurdles:
    """Rolling percentiles over the latest distinct candidates that reached a rung, whether they cleared it or not."""

    def __init__(self, percentiles: tuple[float, ...], window: int) -> None:
        self.percentiles = percentiles
        self._reached: list[deque[float]] = [deque(maxlen=window) for _ in percentiles]

    def learn(self, outcome: Outcome) -> None:
        """Takes in how a distinct candidate fared on each rung: the average over the anchors that it was trained on.

        A run that blew up or was given up counts as accuracy 0: that can lower a hurdle and never raise it.
        """
        accuracies: dict[int, list[float]] = defaultdict(list)
        for stage in outcome.stages:
            if stage.name.startswith(RUNG):
                accuracies[int(stage.name.removeprefix(RUNG)) - 1].append(stage.figures.get("accuracy", 0.0))
        for rung, values in accuracies.items():
            self._reached[rung].append(sum(values) / len(values))

    def heights(self) -> tuple[float, ...]:
        """The accuracy to reach on each rung; 0 where there is no hurdle or too little to tell."""
        return tuple(
            float(np.percentile(reached, percentile)) if percentile > 0 and len(reached) >= FEWEST else 0.0
            for reached, percentile in zip(self._reached, self.percentiles, strict=True)
        )
