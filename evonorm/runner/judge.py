"""The best families of a search judged again: fresh seeds, the same for everybody, differences with intervals.

A search sees each layer once or twice and shows its luckiest. Here the best function of each family and the references
are trained to the end without gates, under seeds that no search has used, and compared seed by seed.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evonorm.fitness import Family, FitnessRecipe, families
from evonorm.foundation import Estimate, estimate, student_t
from evonorm.journal import Outcome, Reader, RunFolder, Scores, Test, leaderboard, read_ledger
from evonorm.runner.evaluate_layer import Measurement
from evonorm.runner.recipe_file import change_table, read_recipe_file
from evonorm.runner.run_search import stored_recipe
from evonorm.runner.settings import read_settings

FIRST_SEED = 1000  # a search's own seeds are hashes; these are written down before anything is trained
POWER = 0.8
SPREAD = 0.008  # of one score, beside others with the same seed: docs/lab_log.md, "a proxy that tells"
NO_GATES = {"ladder": [], "quality": {"steps": 1, "accuracy": 0.0}, "stability": {"steps": 0}}
DEEPEST = 1000  # functions of a run that are looked through for families


@dataclass(frozen=True)
class Contender:
    """A layer to be judged: the head of a family, or a reference, which has no candidate."""

    layer: str
    candidate: int | None = None
    family_size: int = 0


@dataclass(frozen=True)
class PowerRow:
    """What so many seeds can show: a difference of this size with a probability of 80 %, after so many hours."""

    seeds: int
    difference: float
    hours: float | None


@dataclass(frozen=True)
class Judged:
    """A layer's accuracies by seed, each the mean over anchors, and by anchor; what broke counts as 0."""

    contender: Contender
    by_seed: dict[int, float]
    by_anchor: dict[str, dict[int, float]]
    broken: int = 0

    @property
    def mean(self) -> Estimate:
        return estimate(list(self.by_seed.values()))

    def less(self, other: "Judged", anchor: str | None = None) -> Estimate:
        """The mean difference over the seeds that both have; on one anchor, or on the mean of all."""
        mine, theirs = (each.by_anchor[anchor] if anchor else each.by_seed for each in (self, other))
        return estimate([mine[seed] - theirs[seed] for seed in sorted(mine.keys() & theirs.keys())])

    def ahead_everywhere(self, other: "Judged") -> bool:
        """Whether every anchor's own interval lies above zero: an intersection-union test, no correction needed."""
        return all(found.mean > 0 and found.excludes_zero for found in (self.less(other, a) for a in self.by_anchor))


def contenders(folder: RunFolder, top: int, against: Iterable[str] = ()) -> list[Contender]:
    """The heads of the best families of a run, then its references and others to compare with."""
    with folder.reader() as reader:
        found = families(leaderboard(reader, DEEPEST))[:top]
        references = [str(each.proposal.name) for each in reader.references()]
    if not found:
        raise ValueError(f"the run {folder.name} has no scored candidates yet. Let it go on: evonorm resume.")
    rivals = dict.fromkeys([*references, *against])
    return [*(_contender(family) for family in found), *(Contender(name) for name in rivals)]


def _contender(family: Family) -> Contender:
    proposal = family.head.candidate.proposal
    return Contender(str(proposal.graph), proposal.index, len(family.members))


def judging_recipe(folder: RunFolder, recipe: Path | None = None, changes: Sequence[str] = ()) -> FitnessRecipe:
    """The trainings of a recipe, or of the run itself, without gates: a bad seed is part of what a layer is."""
    if recipe is None:
        with folder.reader() as reader:
            table: dict[str, Any] = {"fitness": stored_recipe(reader).fitness}
        change_table(table, changes)
    else:
        table = read_recipe_file(recipe, changes)
    chosen = {**table.get("fitness", {}), **NO_GATES}
    return read_settings(FitnessRecipe, chosen, f"{recipe or f'the recipe of run {folder.name}'} [fitness]")


def power_table(
    layers: int, most_seeds: int, spread: float = SPREAD, seconds: float | None = None, workers: int = 1
) -> list[PowerRow]:
    """For numbers of seeds up to the asked one: `spread` is that of one score, `seconds` what one evaluation takes."""
    counts = sorted({n for n in (2, 3, 4, 6, 8, 12, most_seeds) if 2 <= n <= most_seeds})
    hours = None if seconds is None else layers * seconds / 3600 / max(1, workers)
    return [PowerRow(n, detectable(n, spread * math.sqrt(2)), None if hours is None else n * hours) for n in counts]


def detectable(n: int, spread: float) -> float:
    """The true difference whose 95 % interval over n pairs excludes zero in about 80 % of cases."""
    return (student_t(n - 1) + student_t(n - 1, 2 * POWER - 1)) * spread / math.sqrt(n)


def seconds_of_one(reader: Reader, recipe: FitnessRecipe) -> float | None:
    """What an evaluation takes by the steps of this run; None where nothing was trained on one of the anchors."""
    trained = {stage.anchor: row for stage, row in read_ledger(reader).items() if stage.name == Test.TRAINING}
    if not all(anchor in trained and trained[anchor].steps for anchor in recipe.anchors):
        return None
    return recipe.training.steps * sum(trained[a].seconds / trained[a].steps for a in recipe.anchors)


def judged(every: Sequence[Contender], measured: Sequence[Measurement], figure: str = "accuracy") -> list[Judged]:
    """The best first, by the mean over seeds and anchors of this figure of the last stage."""
    rows = []
    for contender in every:
        outcomes = {each.seed: each.outcome for each in measured if each.layer == contender.layer}
        found = {seed: _figures(outcome, figure) for seed, outcome in outcomes.items()}
        anchors = list(dict.fromkeys(anchor for figures in found.values() for anchor in figures))
        by_anchor = {anchor: {seed: figures.get(anchor, 0.0) for seed, figures in found.items()} for anchor in anchors}
        by_seed = {seed: statistics.fmean([by_anchor[a][seed] for a in anchors] or [0.0]) for seed in found}
        rows.append(Judged(contender, by_seed, by_anchor, sum(not isinstance(o, Scores) for o in outcomes.values())))
    return sorted(rows, key=lambda row: row.mean.mean, reverse=True)


def _figures(outcome: Outcome, figure: str) -> dict[str, float]:
    if not isinstance(outcome, Scores):
        return {}
    last = {stage.anchor: stage.figures for stage in outcome.stages if stage.name == Test.TRAINING}
    return {anchor: figures[figure] for anchor, figures in last.items()}
