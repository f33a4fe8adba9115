"""What came of the trainings of a table."""

import statistics
from dataclasses import dataclass

from evonorm.runner import Trained
from studies.photos.tables import Column


@dataclass(frozen=True)
class Cell:
    """The trainings of one layer in one column, by seed."""

    layer: str
    column: Column
    trained: dict[int, Trained]

    @property
    def values(self) -> dict[int, float]:
        """Of the measure that decides, in %."""
        return {seed: 100 * each.result for seed, each in self.trained.items()}

    def __str__(self) -> str:
        if not self.trained:
            return "-"
        values, broken = (
            list(self.values.values()),
            [each for each in self.trained.values() if each.ending != "reached"],
        )
        text = f"{statistics.fmean(values):.1f}"
        if len(values) > 1:
            text += f" ± {statistics.stdev(values):.1f}"
        steps = ", ".join(str(each.steps) for each in broken)
        return text + (f" (loss not a number at step {steps})" if broken else "") + f" (n = {len(values)})"


Cells = dict[tuple[str, str], Cell]  # by layer and column
