"""A search from Python, for a problem of anybody's own: hand over a function, or ask and tell.

The function is `find_layers` and not `search`, which is the name of a room: a package that is also a function would be
two things under one name, whose meaning changes with what was imported first (`conversion` was named as it is for the
same reason, beside `evonorm.convert`).
"""

import contextlib
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evonorm.journal import End, Journal, Ranked, RunFolder, RunLock, leaderboard, outcome_to_json
from evonorm.runner.budget import Budget
from evonorm.runner.driver import Audience
from evonorm.runner.objective import (
    OBJECTIVE_TASK,
    LayerTrial,
    Numbers,
    Objective,
    ObjectiveRecipe,
    check_importable,
    check_not_loading,
    give,
    trial_from,
)
from evonorm.runner.plain_display import Printed
from evonorm.runner.recipe import Recipe, load_recipe
from evonorm.runner.run_search import (
    SILENCE,
    begin_journal,
    note_end,
    open_session,
    resume_search,
    start_search,
    stored_recipe,
)
from evonorm.runner.settings import read_settings, settings_to_table
from evonorm.runner.trust import trust
from evonorm.search import SearchRecipe
from evonorm.workers import Finished, HostState, Report, Task, TimeLimits, WorkerRecipe, as_worker_recipe

REFERENCES = ("bn-relu", "evonorm-s0")
LAG = 8  # outcomes that may be missing when the next layer is chosen: as many workers give the same search
TOLD = "told by hand"  # in place of a function's name


def find_layers(
    objective: Objective,
    name: str,
    *,
    candidates: int | None = None,
    minutes: float | None = None,
    workers: int | WorkerRecipe = 0,
    seed: int = 0,
    references: Sequence[str] = REFERENCES,
    worst: float = 0.0,
    best: float = 1.0,
    cost: str = "none",
    search: Mapping[str, Any] | None = None,
    threads: int = 1,
    runs: str | Path = "runs",
    audience: Audience | None = None,
) -> list[Ranked]:
    """Searches for the layer with which your function returns the most; returns the ten best, as `evonorm top` does.

    The same call again goes on where it was, whatever ended it. The run is in runs/NAME, as one of the command line is:
    `evonorm top NAME`, `evonorm report NAME`, `evonorm.Run(name)`.

    Arguments:
        objective: takes a `LayerTrial`, which makes modules when it is called, `layer(channels)`, and returns a number
            or several by name. What is not finite turns the layer down; what is raised is tried once more.
        name: of the run.
        candidates, minutes: when to end: after so many layers were judged in all, or so much time from now. Without
            either it goes on until Ctrl-C.
        workers: 0 computes in this process; so many processes import the objective by its name.
        seed: every random number of the search derives from it.
        references: named layers that are judged first, for comparison.
        worst, best: between which numbers the objective's lie. Where less is better, `best` is the smaller one.
        cost: "nodes" or "instructions": what costs less may be a parent though it scores less.
        search: changes to the [search] table of the recipe `laptop`, e.g. {"batch_ops": False, "depth_check": False}.
        threads: of torch, in each evaluation.
        runs: the folder of all runs.
        audience: who is told how it goes; by default lines on standard error.

    Raises ValueError where the run of this name is another search, or where a reference cannot be judged.

    Example:
        def objective(layer):  # in earnest you would train a net here, and return its share of right answers
            torch.manual_seed(layer.seed)
            return 1 / (1 + layer(8)(torch.randn(16, 8, 4, 4)).var().item())

        best = evonorm.find_layers(objective, "mine", candidates=5)
        print(best[0].formula, best[0].average)
    """
    check_not_loading()
    who = as_worker_recipe(workers)
    if who.kind != "inline":
        check_importable(objective)
    table = ObjectiveRecipe(give(objective), float(worst), float(best), threads)
    recipe = objective_recipe(table, seed, references, cost, search, who)
    folder, budget, audience = RunFolder(Path(runs), name), Budget(minutes, candidates), audience or Printed()
    if folder.journal.exists():
        check_same_search(folder, recipe)
        resume_search(folder, budget, audience, workers=who, trusted=True)
    else:
        start_search(folder, recipe, budget, audience)
    with folder.reader() as reader:
        return leaderboard(reader, 10)


def objective_recipe(
    table: ObjectiveRecipe,
    seed: int,
    references: Sequence[str],
    cost: str,
    search: Mapping[str, Any] | None,
    who: WorkerRecipe,
) -> Recipe:
    changes = {"lag": max(LAG, who.number if who.kind == "processes" else 1), "cost": cost, **(search or {})}
    laptop = settings_to_table(load_recipe(Path("laptop")).search)
    settings = read_settings(SearchRecipe, {**laptop, **changes}, "find_layers: search")
    return Recipe(seed, OBJECTIVE_TASK, tuple(references), settings_to_table(table), settings, who)


def check_same_search(folder: RunFolder, recipe: Recipe) -> None:
    """Raises where the run of this name was begun with something else, and says with what."""
    with folder.reader() as reader:
        before, now = stored_recipe(reader).identity(), recipe.identity()
    if before != now:
        differing = ", ".join(f"{key} was {old}, is {new}" for key, old, new in _differences(before, now))
        raise ValueError(
            f"the run {folder.name!r} in {folder.runs} is another search ({differing}). Give this one another name."
        )


def _differences(before: dict[str, Any], now: dict[str, Any], where: str = "") -> Iterator[tuple[str, str, str]]:
    for key in sorted({*before, *now}):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{where}{key}.")
        elif old != new:
            yield f"{where}{key}", json.dumps(old), json.dumps(new)


class LayerSearch:
    """A search that you drive: `ask` for a layer, judge it however you like, `tell` what came of it.

    Everything is in the journal before `ask` and `tell` return, so nothing that was told is lost, whatever happens.
    Made again under the same name it goes on, and asks first what was asked and never told.

    Arguments:
        name: of the run.
        seed: every random number of the search derives from it.
        references: named layers that are asked for first, for comparison.
        worst, best: between which numbers the results lie. Where less is better, `best` is the smaller one.
        cost: "nodes" or "instructions": what costs less may be a parent though it scores less.
        search: changes to the [search] table of the recipe `laptop`.
        runs: the folder of all runs.

    Example:
        with evonorm.LayerSearch("by-hand") as search:
            for _ in range(5):
                layer = search.ask()
                search.tell(layer, 1 / (1 + layer(8)(torch.randn(16, 8, 4, 4)).var().item()))
            print(search.best()[0].formula)
    """

    def __init__(
        self,
        name: str,
        *,
        seed: int = 0,
        references: Sequence[str] = REFERENCES,
        worst: float = 0.0,
        best: float = 1.0,
        cost: str = "none",
        search: Mapping[str, Any] | None = None,
        runs: str | Path = "runs",
    ) -> None:
        check_not_loading()
        self._table = ObjectiveRecipe(TOLD, float(worst), float(best))
        recipe = objective_recipe(self._table, seed, references, cost, search, WorkerRecipe(kind="inline"))
        self._folder = RunFolder(Path(runs), name)
        self._hand = _ByHand(recipe.search.lag)
        self._asked: dict[int, LayerTrial] = {}
        with contextlib.ExitStack() as stack:
            self._journal = stack.enter_context(self._open_journal(recipe))
            session = open_session(self._folder, recipe, Budget(), self._journal, SILENCE, lambda _: self._hand)
            self._driver = stack.enter_context(session)
            self._stack = stack.pop_all()

    @contextlib.contextmanager
    def _open_journal(self, recipe: Recipe) -> Iterator[Journal]:
        if not self._folder.journal.exists():
            with begin_journal(self._folder, recipe) as journal:
                yield journal
            return
        check_same_search(self._folder, recipe)
        with RunLock(self._folder.path), Journal.open(self._folder.journal) as journal:
            trust(self._folder, recipe)
            yield journal

    def ask(self) -> LayerTrial:
        """A layer that wants to be judged; as many may be out at once as the search's lag allows (8)."""
        while not self._hand.waiting:
            self._driver.turn([])
            if not self._hand.waiting and not self._driver.more_to_ask:
                raise ValueError(
                    f"{len(self._asked)} layers are out, and the next one depends on them. Tell the outcome of"
                    f" {', '.join(map(str, sorted(self._asked)))} first."
                )
        trial = trial_from(self._hand.waiting.popleft().arguments)
        self._asked[trial.number] = trial
        return trial

    def tell(self, layer: LayerTrial, result: Numbers) -> None:
        """What came of a layer that was asked for: a number, or several by name; NaN turns it down."""
        if layer.number not in self._asked:
            known = ", ".join(map(str, sorted(self._asked))) or "none"
            raise ValueError(f"nobody waits for the outcome of layer {layer.number}. Asked and not told: {known}.")
        outcome = layer.outcome(result, self._table)
        del self._asked[layer.number]
        self._driver.turn([Finished(layer.number, outcome_to_json(outcome))])

    def best(self, number: int = 10) -> list[Ranked]:
        """The best functions so far, as `evonorm top` ranks them."""
        with self._folder.reader() as reader:
            return leaderboard(reader, number)

    def close(self) -> None:
        with self._stack:
            note_end(self._journal, self._driver, End.STOPPED)

    def __enter__(self) -> "LayerSearch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _ByHand:
    """Workers that are a person or a program: tasks wait here until somebody asks for them."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.time_limits = TimeLimits()
        self.waiting: deque[Task] = deque()

    def submit(self, task: Task) -> None:
        self.waiting.append(task)

    def wait(self, seconds: float) -> list[Report]:  # noqa: ARG002 (what is told goes straight to the driver)
        return []

    def hosts(self) -> list[HostState]:
        return []

    def close(self) -> None:
        self.waiting.clear()
