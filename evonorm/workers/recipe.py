"""The recipe's [workers] table: who computes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evonorm.workers.cluster import Greeting
from evonorm.workers.hosts import HostWorkers
from evonorm.workers.inline import InlineWorkers
from evonorm.workers.interface import Workers
from evonorm.workers.processes import ProcessWorkers


@dataclass(frozen=True)
class WorkerRecipe:
    """None of these changes what a search finds, as long as it is not cut by time."""

    kind: Literal["inline", "processes", "ray"] = "processes"
    number: int = 1  # of a cluster at most so many; 0 is all that it has
    pin: bool = True  # each worker to its own cores; two unpinned ones ran 3 to 10 times slower each on two cores
    slowest: float = 10.0  # a stage may take this many times BN-ReLU's time in it ...
    least_seconds: float = 10.0  # ... or this, where that is nothing much
    memory_gb: float | None = None  # per worker; None: 80 % of the machine's, shared out
    address: str = "auto"  # of the Ray cluster; auto is the one that runs on this machine
    insecure: bool = False  # also a cluster that others can reach and that asks nobody for a token

    def __post_init__(self) -> None:
        least = 0 if self.kind == "ray" else 1
        if self.number < least:
            raise ValueError(f"number must be at least {least}, got {self.number}.")
        for name in ("slowest", "least_seconds", "memory_gb"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be above 0, got {value}.")


def as_worker_recipe(workers: int | WorkerRecipe) -> WorkerRecipe:
    """A number is that of processes; 0 computes in this one."""
    if isinstance(workers, WorkerRecipe):
        return workers
    return WorkerRecipe(number=workers) if workers else WorkerRecipe(kind="inline")


def create_workers(
    settings: WorkerRecipe, threads: int, log: Path | None = None, greeting: Greeting | None = None
) -> Workers:
    """Workers as the recipe asks for them, `threads` for each evaluation; what their libraries print goes to `log`.

    Those of a cluster need a greeting: who may work there.
    """
    if settings.kind == "inline":
        return InlineWorkers()
    if settings.kind == "processes":
        return ProcessWorkers(settings.number, threads, settings.pin, settings.memory_gb, log)
    from evonorm.workers.ray_cluster import HostSettings, RayCluster  # ray is an extra

    assert greeting is not None, "hosts must be greeted"
    hosts = HostSettings(threads=threads, pin=settings.pin, memory_gb=settings.memory_gb)
    cluster = RayCluster(settings.address, hosts, settings.insecure)
    return HostWorkers(cluster, greeting, settings.number, threads)
