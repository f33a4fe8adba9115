"""Reference rows: named layers that go through the very same stages as candidates, once per recipe and machine."""

import hashlib
import json
from pathlib import Path
from typing import Any

from evonorm.foundation import write_atomically
from evonorm.journal import Outcome, Proposal, StageKey, outcome_from_json, outcome_to_json
from evonorm.runner.recipe import Recipe
from evonorm.workers import Announced, TimeLimit, WorkerRecipe

TIME_REFERENCE = "bn-relu"
STARTING_SECONDS = 120.0  # for a fresh worker's imports and data


class ReferenceCache:
    """Outcomes of references by recipe, code and machine. Code with uncommitted changes is never trusted with it."""

    def __init__(self, folder: Path, recipe: Recipe, surroundings: dict[str, Any]) -> None:
        self.folder = folder
        self.usable = bool(surroundings["commit"]) and not str(surroundings["commit"]).endswith("+")
        self._key = {"recipe": recipe.identity(), **surroundings}

    def find(self, proposal: Proposal) -> Outcome | None:
        path = self._path(proposal)
        if not self.usable or not path.exists():
            return None
        try:
            return outcome_from_json(json.loads(path.read_text()))
        except ValueError:  # half a file: evaluate again
            return None

    def keep(self, proposal: Proposal, outcome: Outcome) -> None:
        if not self.usable:
            return
        write_atomically(self._path(proposal), json.dumps(outcome_to_json(outcome)))

    def _path(self, proposal: Proposal) -> Path:
        key = json.dumps({**self._key, "name": proposal.name, "seed": proposal.seed}, sort_keys=True)
        return self.folder / f"{proposal.name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"


def stage_limits(reference: Outcome, settings: WorkerRecipe) -> TimeLimit:
    """Seconds that a stage may take: some times what the reference needed for it.

    A stage that the reference never reached, and the time before the first stage, may take as long as all together.
    """
    seconds = {stage.key: stage.seconds for stage in reference.stages}
    all_together = max(settings.least_seconds, settings.slowest * sum(seconds.values())) + STARTING_SECONDS

    def limit(stage: Announced | None) -> float:
        needed = seconds.get(StageKey.from_json(stage)) if stage else None
        return all_together if needed is None else max(settings.least_seconds, settings.slowest * needed)

    return limit
