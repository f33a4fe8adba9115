"""The recipe's [workers] table: who computes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evonorm.workers.inline import InlineWorkers
from evonorm.workers.interface import Workers
from evonorm.workers.processes import ProcessWorkers


@dataclass(frozen=True)
class WorkerRecipe:
    """None of these changes what a search finds, as long as it is not cut by time."""

    kind: Literal["inline", "processes"] = "processes"
    number: int = 1
    pin: bool = True  # each worker to its own cores; two unpinned ones ran 3 to 10 times slower each on two cores
    slowest: float = 10.0  # a stage may take this many times BN-ReLU's time in it ...
    least_seconds: float = 10.0  # ... or this, where that is nothing much
    memory_gb: float | None = None  # per worker; None: 80 % of the machine's, shared out

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ValueError(f"number must be at least 1, got {self.number}.")
        for name in ("slowest", "least_seconds", "memory_gb"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be above 0, got {value}.")


def create_workers(settings: WorkerRecipe, threads: int, log: Path) -> Workers:
    """Workers as the recipe asks for them, `threads` for each evaluation; what their libraries print goes to `log`."""
    if settings.kind == "inline":
        return InlineWorkers()
    return ProcessWorkers(settings.number, threads=threads, pin=settings.pin, memory_gb=settings.memory_gb, log=log)
