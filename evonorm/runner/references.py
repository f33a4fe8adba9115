"""Reference rows: named layers that go through the very same stages as candidates, once per recipe and machine."""

from pathlib import Path
from typing import Any

from evonorm.journal import KeptResults, Outcome, Proposal, Question, outcome_from_json, outcome_to_json
from evonorm.runner.recipe import Recipe
from evonorm.workers import TimeLimits, WorkerRecipe

TIME_REFERENCE = "bn-relu"
STARTING_SECONDS = 120.0  # for a fresh worker's imports and data


class ReferenceCache:
    """Outcomes of references by recipe, code and machine. Code with uncommitted changes is never trusted with it."""

    def __init__(self, folder: Path, recipe: Recipe, surroundings: dict[str, Any]) -> None:
        self.usable = bool(surroundings["commit"]) and not str(surroundings["commit"]).endswith("+")
        self._kept = KeptResults(folder)
        self._here = {"recipe": recipe.identity(), **surroundings}

    def find(self, proposal: Proposal) -> Outcome | None:
        known = self._kept.find(self._question(proposal)) if self.usable else None
        return outcome_from_json(known) if known else None

    def keep(self, proposal: Proposal, outcome: Outcome) -> None:
        if self.usable:
            self._kept.keep(self._question(proposal), outcome_to_json(outcome))

    def _question(self, proposal: Proposal) -> Question:
        return {"what": "reference", "layer": proposal.name, "seed": proposal.seed, **self._here}


def stage_limits(reference: Outcome, settings: WorkerRecipe) -> TimeLimits:
    """Seconds that a stage may take: some times what the reference needed for it.

    A stage that the reference never reached, and the time before the first stage, may take as long as all together.
    """
    seconds = {stage.key: stage.seconds for stage in reference.stages}
    all_together = max(settings.least_seconds, settings.slowest * sum(seconds.values())) + STARTING_SECONDS
    limits = {key: max(settings.least_seconds, settings.slowest * needed) for key, needed in seconds.items()}
    return TimeLimits(tuple(limits.items()), all_together)
