"""A whole run as one TOML file: seed, what a candidate is judged by, how the next one is chosen, who computes."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evonorm.runner.evaluation_task import PROXY_TASK, checked_fitness
from evonorm.runner.objective import OBJECTIVE_TASK, ObjectiveRecipe
from evonorm.runner.recipe_file import read_recipe_file
from evonorm.runner.settings import changed_settings, read_settings, settings_to_table
from evonorm.search import SearchRecipe, reference_graph
from evonorm.workers import WorkerRecipe

LATER_RULES = frozenset(  # since 0.2
    {"paired_seeds", "most_alike", "family_likeness", "stone_share", "local_share", "islands", "cost"}
)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what a search finds, and in [workers] who does the work."""

    seed: int = 0
    evaluate: str = PROXY_TASK  # what a worker runs for a candidate, as `module:function`; see docs/search.md
    references: tuple[str, ...] = ("bn-relu", "evonorm-b0")  # judged first, for comparison and for time limits
    fitness: dict[str, Any] = field(default_factory=dict)  # the arguments of `evaluate`, every value written out
    search: SearchRecipe = field(default_factory=SearchRecipe)
    workers: WorkerRecipe = field(default_factory=WorkerRecipe)

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}.")
        for name in self.references:
            reference_graph(name)

    def identity(self) -> dict[str, Any]:
        """What makes two runs the same search: all but who does the work and how fast.

        Rules that came later and are not used are left out: a journal from before them is the same search.
        """
        table = json.loads(json.dumps(settings_to_table(self)))
        del table["workers"]
        used = changed_settings(self.search)
        for rule in LATER_RULES - used.keys():
            del table["search"][rule]
        return table

    @property
    def foreign_code(self) -> str | None:
        """The function that a worker would import and run, where it is not evonorm's."""
        if self.evaluate == OBJECTIVE_TASK:
            return str(self.fitness.get("objective"))
        return None if self.evaluate == PROXY_TASK else self.evaluate

    @property
    def threads(self) -> int:
        """Of every evaluation, whatever the kind of worker: convolutions differ by thread count."""
        return int(self.fitness.get("threads", 1))


def load_recipe(path: Path, changes: Sequence[str] = ()) -> Recipe:
    """The recipe in a TOML file; a misspelt key or an impossible value is an error that names the place."""
    return recipe_from_table(read_recipe_file(path, changes), str(path))


def recipe_from_table(table: dict[str, Any], where: str) -> Recipe:
    rest = {key: value for key, value in table.items() if key != "fitness"}
    fitness = table.get("fitness", {})
    if not isinstance(fitness, dict):
        raise ValueError(f"{where}: fitness must be a table, got {fitness!r}.")  # noqa: TRY004 (a user's mistake)
    recipe = read_settings(Recipe, rest, where)
    if recipe.evaluate == PROXY_TASK:
        fitness = checked_fitness(fitness, f"{where} [fitness]")
    if recipe.evaluate == OBJECTIVE_TASK:
        fitness = settings_to_table(read_settings(ObjectiveRecipe, fitness, f"{where} [fitness]"))
    return dataclasses.replace(recipe, fitness=fitness)
