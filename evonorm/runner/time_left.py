"""How long those in flight will take: from the recipe's stages, and what the references took in them."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from evonorm.fitness import FitnessRecipe
from evonorm.journal import Scores, StageKey, Test
from evonorm.runner.driver import Driver
from evonorm.runner.evaluation_task import PROXY_TASK
from evonorm.runner.references import TIME_REFERENCE
from evonorm.runner.settings import read_settings

LEAST_SECONDS = 5.0  # of work behind an estimate


def planned_stages(fitness: Mapping[str, Any]) -> list[tuple[StageKey, int]]:
    """The stages of the proxy task in order, with the steps of each, for a layer that passes all of them."""
    return list(_stages(read_settings(FitnessRecipe, fitness, "the recipe's fitness")))


def _stages(recipe: FitnessRecipe) -> Iterator[tuple[StageKey, int]]:
    reached = dict.fromkeys(recipe.anchors, 0)

    def up_to(key: StageKey, steps: int) -> tuple[StageKey, int]:
        before = reached.get(key.anchor, 0)
        reached[key.anchor] = max(before, steps)
        return key, max(0, steps - before)

    stability = [(StageKey(Test.STABILITY, anchor), recipe.stability.steps) for anchor in recipe.anchors]
    early = False
    for number, rung in enumerate(recipe.ladder, start=1):
        yield from (up_to(StageKey(Test.RUNG, anchor, number), rung.steps) for anchor in rung.anchors)
        if rung.stability and not early:
            early = True
            yield from stability
    yield from (up_to(StageKey(Test.QUALITY, anchor), recipe.quality.steps) for anchor in recipe.anchors)
    yield from [] if early else stability
    yield from (up_to(StageKey(Test.TRAINING, anchor), recipe.training.steps) for anchor in recipe.anchors)


class TimeLeft:
    """Estimates for one driver. Where nothing is known yet it says so, by None."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        proxy = driver.recipe.evaluate == PROXY_TASK
        self._plan = planned_stages(driver.recipe.fitness) if proxy else []

    def of(self, index: int) -> float | None:
        """Seconds until a candidate in flight has its score, if no test turns it down."""
        at = self._driver.at.get(index)
        if at is None:
            return None
        places = [place for place, (key, _) in enumerate(self._plan) if key == at.progress.key]
        if not places:
            return self._of_own(index)
        share = at.progress.step / at.progress.steps if at.progress.steps else 0.0
        known = self._seconds_of_reference()
        if known:
            rest = sum(known.get(key, 0.0) for key, _ in self._plan[places[0] + 1 :])
            return rest + (1 - share) * known.get(at.progress.key, 0.0)
        done = sum(steps for _, steps in self._plan[: places[0]]) + share * self._plan[places[0]][1]
        left = sum(steps for _, steps in self._plan) - done
        spent = 0.0 if at.first is None else time.monotonic() - at.first
        return spent * left / done if done and spent > LEAST_SECONDS else None

    def _of_own(self, index: int) -> float | None:
        """By what an evaluation of somebody's own says of its steps."""
        at = self._driver.at[index]
        step, steps, spent = at.progress.step, at.progress.steps, at.told - at.since
        return spent * (steps - step) / step if step and steps >= step and spent > LEAST_SECONDS else None

    def _seconds_of_reference(self) -> dict[StageKey, float]:
        found = [each.outcome for each in self._driver.references if each.proposal.name == TIME_REFERENCE]
        return {stage.key: stage.seconds for stage in found[0].stages} if found and isinstance(found[0], Scores) else {}

    def first_score(self) -> float | None:
        """Seconds until the first figure of a run that has none; references come first, so no test is in the way."""
        known = [left for index in self._driver.in_flight if (left := self.of(index)) is not None]
        return min(known, default=None)
