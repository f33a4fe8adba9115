"""How long a search goes on."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Budget:
    """The first bound that is met ends the session; without any, it goes on until it is stopped.

    Proposals, candidates (proposals that reach a worker) and steps count over the whole run without its references,
    minutes from now.
    """

    minutes: float | None = None
    candidates: int | None = None
    steps: int | None = None
    proposals: int | None = None

    def __post_init__(self) -> None:
        for name, value in self.to_json().items():
            if value is not None and not value > 0:
                raise ValueError(f"--{name} must be above 0, got {value}.")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        parts = [f"{value:g} {name}" for name, value in self.to_json().items() if value is not None]
        return " or ".join(parts) or "no bound: Ctrl-C ends it"
