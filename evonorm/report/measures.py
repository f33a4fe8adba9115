"""How a measure is shown: its unit, and whether more of it is better, which kept results do not say."""

import re
from dataclasses import dataclass

MORE_IS_BETTER = {"accuracy", "AP", "AR", "IS"}
LESS_IS_BETTER = {"loss", "error", "FID", "KID"}


@dataclass(frozen=True)
class ShownMeasure:
    """A measure by its name. Accuracies are kept as shares and shown in percent, everything else as it is."""

    name: str

    @property
    def title(self) -> str:
        return self.name[:1].upper() + self.name[1:]

    @property
    def percent(self) -> bool:
        return "accuracy" in self._words

    @property
    def scale(self) -> float:
        return 100.0 if self.percent else 1.0

    @property
    def more_is_better(self) -> bool | None:
        """None where the name does not tell; then nobody is called better."""
        if self._words & LESS_IS_BETTER:
            return False
        return True if self._words & MORE_IS_BETTER else None

    @property
    def _words(self) -> set[str]:
        return set(re.findall(r"[A-Za-z]+", self.name))
