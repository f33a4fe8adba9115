"""The best functions of a search, trained anew in full-size models on photos (paper, appendix "Reranking").

Each in ResNet-50, MobileNetV2 and EfficientNet-B0 on 90 % of the training photos, measured on the other 10 %; the order
is that of the mean accuracy. The validation photos of the folder stay untouched for whoever reports final numbers.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evonorm.journal import Failed, KeptResults, RunFolder, leaderboard
from evonorm.runner.rank_correlation import Correlation, correlate
from evonorm.runner.task_recipe import TaskRecipe, load_task_recipe
from evonorm.runner.train_layer import Trained
from evonorm.runner.train_list import Training, Watch, train_all
from evonorm.workers import WorkerRecipe

RERANK_MODELS = ("resnet50", "mobilenetv2", "efficientnet-b0")
HELD_OUT = 0.1


@dataclass(frozen=True)
class Reranked:
    """One layer: what it reached in each model under each seed, and what all of its trainings took.

    A training that broke, or that ended in a loss that is not a number, counts with what it had reached, else as 0.
    """

    layer: str
    place: int | None  # in the search's own ranking, from 1; None for its references
    by_seed: tuple[dict[str, float], ...]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def accuracies(self) -> dict[str, float]:
        """Of each model, the mean over seeds."""
        return {model: statistics.fmean(each[model] for each in self.by_seed) for model in self.by_seed[0]}

    @property
    def means(self) -> list[float]:
        """Of each seed, the mean over models."""
        return [statistics.fmean(each.values()) for each in self.by_seed]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.means)


def agreement_of_seeds(rows: Sequence[Reranked]) -> Correlation:
    """Whether the order is more than noise: the rank correlation of what every other seed says with what the rest say.

    The interval is over layers. Not defined for one seed.
    """
    if min(len(row.by_seed) for row in rows) < 2:
        return Correlation(len(rows), math.nan, math.nan, math.nan)
    even, odd = ([statistics.fmean(row.means[first::2]) for row in rows] for first in (0, 1))
    return correlate(even, odd, np.random.default_rng(0))


@dataclass(frozen=True)
class Rivals:
    """Who is trained: the best functions of a run, each once, then its references."""

    found: tuple[str, ...]
    references: tuple[str, ...]

    @property
    def layers(self) -> tuple[str, ...]:
        return (*self.found, *self.references)


def rivals_of(folder: RunFolder, top: int) -> Rivals:
    """The first `top` functions of a run, as formulas, and the names of its references."""
    with folder.checked_reader() as reader:
        found = tuple(str(row.candidate.proposal.graph) for row in leaderboard(reader, top))
        references = tuple(str(each.proposal.name) for each in reader.references())
    if not found:
        raise ValueError(f"the run {folder.name} has no scored candidates yet. Let it go on: evonorm resume.")
    return Rivals(found, references)


def rerank_recipes(
    family: str, data: Path, changes: Sequence[str] = (), epochs: float | None = None
) -> dict[str, TaskRecipe]:
    """The recipe of each model, e.g. imagenet/resnet50, with photos held out of the training set to measure on."""
    chosen = [f"settings.data={data.absolute()}", f"settings.held_out={HELD_OUT}", *changes]
    recipes = {model: load_task_recipe(Path(family) / model, chosen) for model in RERANK_MODELS}
    if epochs is not None:
        recipes = {model: replace(each, training=each.training.lasting(epochs)) for model, each in recipes.items()}
    for model, recipe in recipes.items():
        if not recipe.settings.held_out:
            raise ValueError(f"{family}/{model} would be ranked on validation photos; settings.held_out must not be 0.")
    return {model: recipe.in_steps() for model, recipe in recipes.items()}


def rerank(
    rivals: Rivals,
    recipes: dict[str, TaskRecipe],
    kept: KeptResults,
    workers: int | WorkerRecipe = 1,
    watch: Watch = lambda *_: None,
    on_found: Callable[[Training, Trained | Failed], None] = lambda *_: None,
    seeds: int = 1,
) -> list[Reranked]:
    """Everybody trained in every model under so many seeds, the best first; what was trained before is found again."""
    trainings = {
        (layer, seed, model): Training(layer, replace(recipe, seed=recipe.seed + seed))
        for seed in range(seeds)
        for layer in rivals.layers
        for model, recipe in recipes.items()
    }
    found = train_all(list(trainings.values()), kept, workers, watch, on_found)
    outcomes = {key: found[training] for key, training in trainings.items()}
    rows = []
    for layer in rivals.layers:
        mine = [{model: outcomes[layer, seed, model] for model in recipes} for seed in range(seeds)]
        place = rivals.found.index(layer) + 1 if layer in rivals.found else None
        rows.append(_reranked(layer, place, mine))
    return sorted(rows, key=lambda row: row.mean, reverse=True)


def _reranked(layer: str, place: int | None, outcomes: Sequence[dict[str, Trained | Failed]]) -> Reranked:
    reached = tuple(
        {model: each.result if isinstance(each, Trained) else 0.0 for model, each in of_seed.items()}
        for of_seed in outcomes
    )
    every = [(model, each) for of_seed in outcomes for model, each in of_seed.items()]
    seconds = sum(each.seconds for _, each in every if isinstance(each, Trained))
    notes = tuple(f"{model}: {note}" for model, each in every if (note := _note(each)))
    return Reranked(layer, place, reached, seconds, notes)


def _note(outcome: Trained | Failed) -> str | None:
    if isinstance(outcome, Failed):
        return f"failed ({outcome.reason})"
    return None if outcome.ending == "reached" else f"{outcome.ending.replace('_', ' ')} at step {outcome.steps}"
