"""A fitness of anybody's own: a Python function that takes a layer and returns a number, or several by name."""

import importlib
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from evonorm.fitness import number_of_threads
from evonorm.graph import Graph, graph_of
from evonorm.journal import Outcome, Rejected, Scores, Stage, outcome_to_json
from evonorm.layers import create_layer
from evonorm.runner.settings import read_settings
from evonorm.workers import Announced

OBJECTIVE_TASK = "evonorm.runner.objective:evaluate_objective"
STAGE = "objective"  # an evaluation of this kind has one
TOLD_EVERY = 0.5  # seconds
NOT_FINITE = "not-finite"  # the test that turns down what has no finite number

Numbers = float | Mapping[str, float]
Objective = Callable[["LayerTrial"], Numbers]


@dataclass(frozen=True)
class ObjectiveRecipe:
    """The [fitness] table of such a search: which function, and between which numbers its results lie."""

    objective: str  # module:function
    worst: float = 0.0  # counts as 0, and so does everything beyond it
    best: float = 1.0  # counts as 1; below `worst` where less is better
    threads: int = 1

    def __post_init__(self) -> None:
        if not (math.isfinite(self.worst) and math.isfinite(self.best) and self.worst != self.best):
            raise ValueError(f"worst and best must be two finite numbers, got {self.worst} and {self.best}.")
        if self.threads < 1:
            raise ValueError(f"threads must be at least 1, got {self.threads}.")

    def share(self, name: str, value: float) -> float:
        """How far a number is on the way from the worst to the best."""
        share = (value - self.worst) / (self.best - self.worst)
        if share > 1:
            raise ValueError(
                f"{name} must lie between the worst, {self.worst:g}, and the best, {self.best:g}, got {value:g}."
                " Say what they are: find_layers(..., worst=..., best=...)."
            )
        return max(0.0, share)


@dataclass(frozen=True)
class LayerTrial:
    """A layer that is to be judged. Call it wherever a model makes one: `layer(channels, nonlinearity=True)`.

    Searches make them, and what begins with an underscore is theirs.

    Arguments:
        number: of the candidate in its run.
        layer: the name of a reference, or the graph of a candidate; what `create_layer` takes.
        seed: of this evaluation. Equal functions are tried again under other seeds, so use it.

    Example:
        layer = evonorm.LayerTrial(number=0, layer="evonorm-s0", seed=0)
        net = nn.Sequential(nn.Conv2d(3, 16, 3), layer(16), nn.Conv2d(16, 16, 3), layer(16, nonlinearity=False))
    """

    number: int
    layer: str | Graph
    seed: int
    _announce: Callable[[Announced], None] = field(default=lambda _: None, repr=False, compare=False)
    _steps: list[int] = field(default_factory=lambda: [0], repr=False, compare=False)
    _told: list[float] = field(default_factory=lambda: [0.0], repr=False, compare=False)
    _begun: float = field(default_factory=time.perf_counter, repr=False, compare=False)

    @property
    def graph(self) -> Graph:
        return graph_of(self.layer)

    def __call__(self, channels: int, nonlinearity: bool = True, **settings: Any) -> nn.Module:
        """A new module; `settings` are those of `create_layer`."""
        return create_layer(self.layer, channels, nonlinearity, **settings)

    def report(self, step: int, steps: int = 0, part: str = "") -> None:
        """Says how far the evaluation is, as often as you like: for the bars, and the steps that it is charged with."""
        self._steps[0] = max(self._steps[0], step)
        if (now := time.monotonic()) >= self._told[0] + TOLD_EVERY:
            self._told[0] = now
            self._announce({"name": STAGE, "anchor": part, "rung": None, "step": step, "steps": steps})

    def outcome(self, result: Numbers, recipe: ObjectiveRecipe) -> Outcome:
        """What the objective's result amounts to. Less than a finite number turns the layer down: NaN never wins."""
        numbers = named_numbers(result)
        seconds = time.perf_counter() - self._begun
        stages = (Stage(STAGE, "", self._steps[0], seconds, dict(numbers)),)
        for name, value in numbers.items():
            if not math.isfinite(value):
                return Rejected(NOT_FINITE, name, {name: str(value)}, (Stage(STAGE, "", self._steps[0], seconds),))
        return Scores({name: recipe.share(name, value) for name, value in numbers.items()}, stages)


def named_numbers(result: Any) -> dict[str, float]:
    """One number is called `score`; tensors and numpy's numbers will do."""
    named = result if isinstance(result, Mapping) else {"score": result}
    try:
        numbers = {str(name): float(value) for name, value in named.items()}
    except (TypeError, ValueError):
        numbers = {}
    if not numbers:
        raise TypeError(f"an objective returns a number, or numbers by name, got {str(result)[:200]!r}.")
    return numbers


_given: dict[str, Objective] = {}  # to this process, by name: such a one need not be importable
_loading = False


def name_of(objective: Objective) -> str:
    """`module:function` as a worker would import it; a script goes by its file's name."""
    module = getattr(objective, "__module__", "")
    if module == "__main__" and (script := getattr(sys.modules["__main__"], "__file__", None)):
        module = Path(script).stem
    return f"{module}:{getattr(objective, '__qualname__', type(objective).__name__)}"


def give(objective: Objective) -> str:
    """Makes it known to this process; returns its name."""
    name = name_of(objective)
    _given[name] = objective
    return name


def check_importable(objective: Objective) -> None:
    """Raises for a function that another process could not import."""
    module, _, function = name_of(objective).partition(":")
    if module == "__main__" or "." in function or "<" in function or not hasattr(objective, "__qualname__"):
        raise ValueError(
            f"worker processes import the objective by its name, and {module}:{function} has none that they could:"
            " define it with `def` at the top of a file, or leave workers at 0."
        )


def check_not_loading() -> None:
    if _loading:
        raise RuntimeError(
            "a worker that imports your script for its objective has come upon a search. Put everything but"
            " definitions below `if __name__ == '__main__':`."
        )


def find_objective(name: str) -> Objective:
    global _loading
    if name not in _given:
        module, _, function = name.partition(":")
        _loading = True
        try:
            _given[name] = getattr(importlib.import_module(module), function)
        finally:
            _loading = False
    return _given[name]


def trial_from(arguments: dict[str, Any], announce: Callable[[Announced], None] = lambda _: None) -> LayerTrial:
    """The layer that a task is about."""
    layer = arguments["layer"] if arguments["named"] else Graph.decode(arguments["layer"])
    return LayerTrial(arguments["number"], layer, arguments["seed"], announce)


def evaluate_objective(arguments: dict[str, Any], announce: Callable[[Announced], None]) -> dict[str, Any]:
    """The outcome of a layer by the objective that the recipe names, as JSON."""
    recipe = read_settings(ObjectiveRecipe, arguments["fitness"], "the task's fitness")
    announce({"name": STAGE, "anchor": "", "rung": None})
    trial = trial_from(arguments, announce)
    with number_of_threads(recipe.threads):
        result = find_objective(recipe.objective)(trial)
    return outcome_to_json(trial.outcome(result, recipe))
