"""When a run is hopelessly behind half-way up a rung: its loss is above that of everyone who has cleared the rung.

The rule is a record, not a forecast. Of n + 1 candidates that would clear a rung, in random order, the last has the
largest half-way loss of all with a chance of 1 / (n + 1): so often, at most, is one stopped wrongly. Stopped runs
cannot show that they would have cleared it, so every few candidates one is never stopped: the record goes on growing,
and the journal holds what is needed to count wrong stops (`evonorm.runner.halfway_stops`).
"""

from collections import defaultdict

from evonorm.journal import Outcome, Rejected, Scores
from evonorm.search.hurdles import RUNG

FEWEST = 20  # candidates that cleared a rung before anybody is stopped on it
NEVER_STOPPED = 5  # one in so many
HALFWAY_LOSS = "halfway_loss"  # the figure of a rung's stage


class Ceilings:
    """The largest half-way loss with which a rung was ever cleared, on the rungs that ask for it."""

    def __init__(self, asked: tuple[bool, ...]) -> None:
        self.asked = asked
        self._cleared = [0] * len(asked)
        self._largest = [0.0] * len(asked)

    def learn(self, outcome: Outcome) -> None:
        """Takes in the rungs that a distinct candidate cleared; the largest of a rung's anchors counts."""
        losses: dict[int, list[float]] = defaultdict(list)
        for stage in outcome.stages:
            if stage.name.startswith(RUNG) and HALFWAY_LOSS in stage.figures:
                losses[int(stage.name.removeprefix(RUNG)) - 1].append(stage.figures[HALFWAY_LOSS])
        for rung in range(min(rungs_cleared(outcome), len(self.asked))):
            if losses[rung]:
                self._cleared[rung] += 1
                self._largest[rung] = max(self._largest[rung], *losses[rung])

    def losses(self) -> tuple[float, ...]:
        """The half-way loss above which a run ends, for each rung; 0 where there is none."""
        return tuple(
            largest if asked and cleared >= FEWEST else 0.0
            for asked, cleared, largest in zip(self.asked, self._cleared, self._largest, strict=True)
        )


def rungs_cleared(outcome: Outcome) -> int:
    """How many rungs a candidate got over. One whose evaluation broke says nothing of the rung that it was on."""
    last = max((int(s.name.removeprefix(RUNG)) for s in outcome.stages if s.name.startswith(RUNG)), default=0)
    through = isinstance(outcome, Scores) or (isinstance(outcome, Rejected) and not outcome.test.startswith(RUNG))
    return last if through else max(0, last - 1)
