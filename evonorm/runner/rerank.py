"""The best functions of a search, trained anew in full-size models on photos (paper, appendix "Reranking").

Each in ResNet-50, MobileNetV2 and EfficientNet-B0 on 90 % of the training photos, measured on the other 10 %; the order
is that of the mean accuracy. The validation photos of the folder stay untouched for whoever reports final numbers.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evonorm.journal import Failed, KeptResults, RunFolder, leaderboard
from evonorm.runner.task_recipe import TaskRecipe, load_task_recipe
from evonorm.runner.train_layer import Trained
from evonorm.runner.train_list import Found, Training, Watch, train_all
from evonorm.workers import WorkerRecipe

RERANK_MODELS = ("resnet50", "mobilenetv2", "efficientnet-b0")
HELD_OUT = 0.1


@dataclass(frozen=True)
class Reranked:
    """One layer: what it reached in each model, one training each, and what all of them took.

    A training that broke, or that ended in a loss that is not a number, counts with what it had reached, else as 0.
    """

    layer: str
    place: int | None  # in the search's own ranking, from 1; None for its references
    accuracies: dict[str, float]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        return statistics.fmean(self.accuracies.values())


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
) -> list[Reranked]:
    """Everybody trained in every model, the best first; what was trained before is found again."""
    trainings = {
        (layer, model): Training(layer, recipe) for layer in rivals.layers for model, recipe in recipes.items()
    }
    found = train_all(list(trainings.values()), kept, workers, watch, on_found)
    rows = []
    for layer in rivals.layers:
        mine = {model: trainings[layer, model] for model in recipes}
        place = rivals.found.index(layer) + 1 if layer in rivals.found else None
        rows.append(_reranked(layer, place, mine, found))
    return sorted(rows, key=lambda row: row.mean, reverse=True)


def _reranked(layer: str, place: int | None, trainings: dict[str, Training], found: Found) -> Reranked:
    outcomes = {model: found[training] for model, training in trainings.items()}
    accuracies = {model: each.result if isinstance(each, Trained) else 0.0 for model, each in outcomes.items()}
    seconds = sum(each.seconds for each in outcomes.values() if isinstance(each, Trained))
    notes = tuple(f"{model}: {note}" for model, each in outcomes.items() if (note := _note(each)))
    return Reranked(layer, place, accuracies, seconds, notes)


def _note(outcome: Trained | Failed) -> str | None:
    if isinstance(outcome, Failed):
        return f"failed ({outcome.reason})"
    return None if outcome.ending == "reached" else f"{outcome.ending.replace('_', ' ')} at step {outcome.steps}"
