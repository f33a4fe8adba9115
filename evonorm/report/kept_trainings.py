"""The trainings that `evonorm train` has kept, in setups: those of one setup differ in layer and seed only."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evonorm.journal import Question
from evonorm.report.measures import ShownMeasure

REFERENCE = "bn-relu"  # that others are compared with

Curve = list[tuple[float, float]]  # (step, value)


@dataclass(frozen=True)
class KeptTraining:
    """One layer with one seed; see `Trained` of the runner for the fields."""

    layer: str
    seed: int
    ending: str
    steps: int
    seconds: float
    waited: float | None  # None in results that do not say
    measured: dict[str, Curve]
    losses: list[float]
    loss_every: int
    falling: frozenset[str]  # measures of which less is better
    key: str  # that its pictures are found by

    @property
    def under_way(self) -> bool:
        return self.ending == "under_way"

    def last(self, measure: str) -> float | None:
        """The last value of a measure, if it was ever taken."""
        curve = self.measured.get(measure)
        return curve[-1][1] if curve else None


@dataclass(frozen=True)
class Setup:
    """What was trained, without layer and seed; `settings` and `training` hold what is not at its default."""

    task: str
    threads: int | None
    settings: dict[str, Any]
    training: dict[str, Any]
    trainings: list[KeptTraining]

    @property
    def layers(self) -> list[str]:
        """The reference first, the others in the order in which they were trained."""
        return sorted(dict.fromkeys(each.layer for each in self.trainings), key=lambda layer: layer != REFERENCE)

    @property
    def measures(self) -> list[ShownMeasure]:
        """Of all trainings, the one that decides first."""
        falling = {name for each in self.trainings for name in each.falling}
        names = dict.fromkeys(name for each in self.trainings for name in each.measured)
        return [ShownMeasure(name, name not in falling) for name in names]

    def of(self, layer: str) -> list[KeptTraining]:
        """A training a seed."""
        return sorted((each for each in self.trainings if each.layer == layer), key=lambda each: each.seed)


def setups_of(records: Iterable[Mapping[str, Any]]) -> list[Setup]:
    """What is kept of trainings, in the order in which the setups came up; results of other kinds are passed over."""
    found: dict[str, Setup] = {}
    for record in filter(is_training, records):
        question: Question = record["question"]
        what = {name: value for name, value in question.items() if name not in ("layer", "seed")}
        key = json.dumps(what, sort_keys=True)
        if key not in found:
            parts = question.get("settings", {}), question.get("training", {})
            found[key] = Setup(str(question.get("task")), question.get("threads"), *parts, [])
        found[key].trainings.append(_training(question, record["answer"], str(record["key"])))
    return list(found.values())


def is_training(record: Mapping[str, Any]) -> bool:
    """Whether `evonorm train` has kept it: other work keeps its results in such files as well."""
    return isinstance(record["question"], Mapping) and record["question"].get("what") == "train"


def _training(question: Question, answer: Mapping[str, Any], key: str) -> KeptTraining:
    measured = answer.get("measured", {})
    return KeptTraining(
        layer=str(question["layer"]),
        seed=int(question["seed"]),
        ending=str(answer["ending"]),
        steps=int(answer["steps"]),
        seconds=float(answer["seconds"]),
        waited=answer.get("waited"),
        measured={name: [(step, value) for step, value in curve] for name, curve in measured.items()},
        losses=list(answer.get("losses", ())),
        loss_every=int(answer.get("loss_every", 1)),
        falling=frozenset(answer.get("falling", ())),
        key=key,
    )
