"""Where an evaluation is, for whoever waits for it, in this process or in another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evonorm.journal.words import StageKey


@dataclass(frozen=True)
class Progress:
    """After `step` of `steps` of a stage on an anchor."""

    stage: str
    anchor: str
    step: int
    steps: int
    figures: dict[str, Any] = field(default_factory=dict)
    rung: int | None = None  # of the ladder, counted from 1

    @property
    def key(self) -> StageKey:
        return StageKey(self.stage, self.anchor, self.rung)

    def to_json(self) -> dict[str, Any]:
        """For the way out of a worker: without the figures, which are for whoever is near."""
        return {**self.key._asdict(), "step": self.step, "steps": self.steps}


Watcher = Callable[[Progress], None]


def progress_from_json(data: Mapping[str, Any]) -> Progress:
    """The inverse of `to_json`; an announcement of somebody's own need not say more than a name."""
    key = StageKey.from_json(data)
    return Progress(key.name, key.anchor, _count(data.get("step")), _count(data.get("steps")), rung=key.rung)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
