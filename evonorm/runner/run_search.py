"""A whole search from a recipe: begins a run or goes on with one, survives whatever ends it."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from evonorm.fitness import cost_named, create_screen
from evonorm.journal import (
    Candidate,
    End,
    Event,
    Failed,
    Journal,
    Proposal,
    Reader,
    RunFolder,
    RunLock,
    Snapshots,
    gone_settings,
    run_names,
    verdict_words,
)
from evonorm.runner.budget import Budget
from evonorm.runner.driver import Audience, Driver, Silence
from evonorm.runner.evaluation_task import PROXY_TASK, data_used
from evonorm.runner.handshake import greet
from evonorm.runner.objective import OBJECTIVE_TASK
from evonorm.runner.recipe import Recipe, load_recipe, recipe_from_table
from evonorm.runner.recipe_file import find_recipe
from evonorm.runner.references import ReferenceCache
from evonorm.runner.settings import settings_to_table
from evonorm.runner.surroundings import surroundings
from evonorm.runner.trust import check_recipe_file, check_trusted, trust
from evonorm.search import Search
from evonorm.workers import InlineWorkers, WorkerRecipe, Workers, create_workers, end_leftovers, process_start_time

SILENCE = Silence()
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start_search(
    folder: RunFolder,
    recipe: Recipe,
    budget: Budget,
    audience: Audience = SILENCE,
    recipe_file: Path | None = None,
    trusted: bool = False,
) -> str:
    """Begins a run under a name that is not taken; returns why it ended.

    Whoever begins a search knows the code that it names, unless its recipe came with somebody's journal.
    """
    refuse_taken(folder)
    if recipe_file and not trusted:
        check_recipe_file(find_recipe(recipe_file), recipe)
    _tell_of_a_twin(folder, recipe, audience)
    with begin_journal(folder, recipe, recipe_file) as journal:
        return _run_session(folder, recipe, budget, journal, audience)


def _tell_of_a_twin(folder: RunFolder, recipe: Recipe, audience: Audience) -> None:
    """A second search with the recipe and seed of one that is there would only find the same again."""
    for name in run_names(folder.runs):
        twin = RunFolder(folder.runs, name)
        with contextlib.suppress(ValueError), twin.reader() as reader:
            if reader.header().get("identity") == recipe.identity():
                audience.say(
                    f"The run {name} is this very search, by recipe and seed: it would go on with"
                    f" `{twin.command('resume')}`. Another --seed makes another search."
                )
                return


@contextlib.contextmanager
def begin_journal(folder: RunFolder, recipe: Recipe, recipe_file: Path | None = None) -> Iterator[Journal]:
    """The journal of a new run, locked for this process."""
    header = {
        "name": folder.name,
        "recipe": settings_to_table(recipe),
        "identity": recipe.identity(),
        "seed": recipe.seed,
        "created": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "data": data_used(recipe.fitness) if recipe.evaluate == PROXY_TASK else None,
        **surroundings(),
    }
    folder.path.mkdir(parents=True, exist_ok=True)
    with RunLock(folder.path):
        refuse_taken(folder)  # somebody may have been quicker
        if recipe_file:
            folder.recipe.write_bytes(find_recipe(recipe_file).read_bytes())
        with Journal.create(folder.journal, header) as journal:
            trust(folder, recipe)
            yield journal


def refuse_taken(folder: RunFolder) -> None:
    if folder.journal.exists():
        raise ValueError(
            f"there is a run {folder.name!r} in {folder.runs} already."
            f" Go on with `{folder.command('resume')}`, or choose another --name."
        )


def resume_search(
    folder: RunFolder,
    budget: Budget,
    audience: Audience = SILENCE,
    recipe_file: Path | None = None,
    workers: WorkerRecipe | None = None,
    trusted: bool = False,
) -> str:
    """Goes on where the journal ends, under any commit; other bounds and other workers may be given.

    A run that judges by code that is not evonorm's, and that was not begun here, must be `trusted` once (`trust.py`).
    """
    with folder.reader() as reader:
        recipe = stored_recipe(reader)
        if recipe_file and load_recipe(recipe_file).identity() != recipe.identity():
            raise ValueError(
                f"{recipe_file} is not the recipe of run {folder.name!r}. Leave it out to go on with {folder.recipe},"
                " or start a new run with it."
            )
        if workers is None and recipe.workers.kind == "ray":  # a journal may come from anybody
            raise ValueError(
                f"run {folder.name!r} was on a cluster at {recipe.workers.address}. Name the one to go on with:"
                f" {folder.command('resume', '--workers', 'ray', '--address', 'ADDRESS')}; or --workers NUMBER."
            )
        if budget == Budget():
            budget = _last_budget(reader)
    with RunLock(folder.path), Journal.open(folder.journal) as journal:
        give_word(folder, recipe, trusted)
        return _run_session(folder, recipe, budget, journal, audience, workers)


def retry_candidates(
    folder: RunFolder,
    indices: Sequence[int],
    audience: Audience = SILENCE,
    workers: WorkerRecipe | None = None,
    trusted: bool = False,
) -> dict[int, int]:
    """Tries candidates again that failed; returns the number that each has the second time.

    Nothing that was written changes: each becomes a proposal of its own, with the seed that it had.
    """
    with folder.reader() as reader:
        recipe = stored_recipe(reader)
        failed = [_failed(reader, index) for index in dict.fromkeys(indices)]
    with RunLock(folder.path), Journal.open(folder.journal) as journal:
        give_word(folder, recipe, trusted)
        met = Budget(candidates=1)  # or nothing could have failed; so nothing new is proposed
        _run_session(folder, recipe, met, journal, audience, workers, failed)
    with folder.reader() as reader:
        told = [body for _, body in reader.events(Event.RETRIED)]
    return {body["candidate"]: body["as"] for body in told[-len(failed) :]}


def _failed(reader: Reader, index: int) -> Proposal:
    candidate = reader.candidate(index)
    if not isinstance(candidate.outcome, Failed):
        raise ValueError(  # noqa: TRY004 (a user's mistake)
            f"candidate {index} did not fail ({verdict_words(candidate.outcome)}): only what failed can be tried again."
        )
    return candidate.proposal


def give_word(folder: RunFolder, recipe: Recipe, trusted: bool) -> None:
    """Keeps the user's word for the code of this run, or asks for it."""
    if trusted:
        trust(folder, recipe)
    else:
        check_trusted(folder, recipe)


def stored_recipe(reader: Reader) -> Recipe:
    """The recipe that the run was begun with; it cannot go on where it used what is gone from evonorm."""
    header = reader.header()
    if gone := gone_settings(header["recipe"]):
        raise ValueError(
            f"{reader.path} was made with {', '.join(gone)}, which evonorm no longer has: it can be read, and go on"
            f" under commit {header.get('commit')} alone."
        )
    return recipe_from_table(header["recipe"], f"the recipe in {reader.path}")


def _run_session(
    folder: RunFolder,
    recipe: Recipe,
    budget: Budget,
    journal: Journal,
    audience: Audience,
    worker_settings: WorkerRecipe | None = None,
    again: Sequence[Proposal] = (),
) -> str:
    who = partial(_create_workers, folder, recipe, worker_settings or recipe.workers)
    with open_session(folder, recipe, budget, journal, audience, who, again) as driver:
        with _stopped_by_signals(driver, folder):
            ended = driver.run()
        note_end(journal, driver, ended)
    return ended


def _create_workers(folder: RunFolder, recipe: Recipe, who: WorkerRecipe, here: dict[str, Any]) -> Workers:
    data = recipe.fitness["data"] if recipe.evaluate == PROXY_TASK else None
    greeting = greet(here, data, same_processor=recipe.search.order == "strict")
    return create_workers(who, recipe.threads, folder.worker_log, greeting)


@contextlib.contextmanager
def open_session(
    folder: RunFolder,
    recipe: Recipe,
    budget: Budget,
    journal: Journal,
    audience: Audience,
    create: Callable[[dict[str, Any]], Workers],
    again: Sequence[Proposal] = (),
) -> Iterator[Driver]:
    """A driver that is where the journal ends; `create` makes its workers, who are told where they are."""
    search = create_search(recipe)
    here = surroundings()
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(folder.reader())
        _end_leftover_workers(reader, journal)
        pending = search.restore(reader.candidates("index" if recipe.search.order == "strict" else "arrival"))
        _tell_of_another_commit(reader, here, audience)
        with journal.transaction():
            process = {"pid": os.getpid(), "started": process_start_time(os.getpid())}
            bound = _last_budget(reader) if again else budget
            journal.add_event(Event.SESSION_STARTED, {**process, "budget": bound.to_json(), **here})
            pending += [_propose_again(search, journal, proposal) for proposal in again]
        stack.enter_context(Snapshots(folder.journal))
        workers = create(here)
        stack.callback(workers.close)
        display = audience.watch(reader, folder.name)
        if display:
            stack.callback(display.close)
        # an objective's code may change without a commit of ours: nothing tells whether a kept outcome is still true
        cached = recipe.evaluate != OBJECTIVE_TASK
        cache = ReferenceCache(folder.reference_cache, recipe, here) if cached else None
        driver = Driver(recipe, search, journal, workers, budget, cache, display)
        if isinstance(workers, InlineWorkers):
            workers.listener = driver.overhear
        driver.take_up(pending, reader.verdicts(), reader.best_by_anchor(), settled(reader.references()))
        yield driver


def note_end(journal: Journal, driver: Driver, why: str) -> None:
    with journal.transaction():
        journal.add_event(Event.SESSION_ENDED, {"why": why, **driver.thrown_away()})
        if why == End.MINUTES:
            journal.add_event(Event.NOT_REPRODUCIBLE, {"why": "the clock decided how far it went"})


def _propose_again(search: Search, journal: Journal, failed: Proposal) -> Proposal:
    proposal = search.ask_again(failed)
    journal.add_proposal(proposal)
    journal.add_event(Event.RETRIED, {"candidate": failed.index, "as": proposal.index})
    why = f"candidate {failed.index} was tried again as {proposal.index}"
    journal.add_event(Event.NOT_REPRODUCIBLE, {"why": why})
    return proposal


def create_search(recipe: Recipe) -> Search:
    cost = None if recipe.search.cost == "none" else cost_named(recipe.search.cost)
    return Search(recipe.search, recipe.seed, create_screen(recipe.search), recipe.references, cost)


def settled(candidates: list[Candidate]) -> list[Candidate]:
    return [candidate for candidate in candidates if candidate.outcome is not None]


def _last_budget(reader: Reader) -> Budget:
    sessions = reader.events(Event.SESSION_STARTED)
    return Budget(**sessions[-1][1]["budget"]) if sessions else Budget()


def _end_leftover_workers(reader: Reader, journal: Journal) -> None:
    """Workers end by themselves within seconds of their driver's death; this makes sure."""
    started = [(body["pid"], body["started"]) for _, body in reader.events("worker started")[-100:]]
    killed = end_leftovers([(pid, start) for pid, start in started if start])
    if killed:
        with journal.transaction():
            journal.add_event(Event.LEFTOVERS_ENDED, {"pids": killed})


def _tell_of_another_commit(reader: Reader, here: dict[str, Any], audience: Audience) -> None:
    sessions = reader.events(Event.SESSION_STARTED)
    before = sessions[-1][1]["commit"] if sessions else reader.header()["commit"]
    if before != here["commit"]:
        audience.say(
            f"The code has changed since the last session ({before} -> {here['commit']}); the journal notes it."
        )


@contextlib.contextmanager
def _stopped_by_signals(driver: Driver, folder: RunFolder) -> Iterator[None]:
    """Ctrl-C (or SIGTERM, or a closed terminal) once: ends after what is being written. Twice: at once.

    The journal is whole either way.
    """

    def on_signal(number: int, _: FrameType | None) -> None:
        if driver.stopping:
            os.write(2, f"\nStopped at once. Go on with: {folder.command('resume')}\n".encode())
            os._exit(128 + number)
        driver.stop()

    try:
        old = {each: signal.signal(each, on_signal) for each in STOPPING}
    except ValueError:  # not in the main thread: whoever runs us there stops us by driver.stop
        yield
        return
    try:
        yield
    finally:
        for each, handler in old.items():
            signal.signal(each, handler)
