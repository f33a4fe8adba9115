"""What a worker runs for a candidate: the proxy task behind a dotted name and JSON."""

from collections.abc import Callable
from typing import Any

PROXY_TASK = "evonorm.experiments.evaluation_task:evaluate_candidate"


def checked_fitness(table: dict[str, Any], where: str) -> dict[str, Any]:
    raise NotImplementedError


def evaluate_candidate(arguments: dict[str, Any], announce: Callable[[str], None]) -> dict[str, Any]:
    raise NotImplementedError


def data_used(fitness: dict[str, Any]) -> str:
    raise NotImplementedError
