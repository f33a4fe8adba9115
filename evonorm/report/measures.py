"""How a measure is shown: its unit, and whether more of it is better."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ShownMeasure:
    """A measure by its name. Accuracies are kept as shares and shown in percent, everything else as it is."""

    name: str
    more_is_better: bool = True

    @property
    def title(self) -> str:
        return self.name[:1].upper() + self.name[1:]

    @property
    def percent(self) -> bool:
        return "accuracy" in self.name.split()

    @property
    def scale(self) -> float:
        return 100.0 if self.percent else 1.0
