"""The sub-commands about a search: begin, go on, look. Wiring only; what needs torch is loaded where it is used."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evonorm.cli.candidate_page import candidate_page
from evonorm.cli.leaderboard import candidate_json, front_text, leaderboard_text, row_json
from evonorm.cli.worker_options import Address, Insecure, WorkersOption, chosen_workers
from evonorm.journal import (
    DamagedJournalError,
    End,
    JournalFullError,
    Reader,
    RunFolder,
    RunLock,
    check_journal,
    export_journal,
    exported_name,
    find_run,
    fresh_name,
    import_journal,
    journal_digest,
    leaderboard,
    repair_journal,
    verdict_words,
)
from evonorm.workers import WorkerRecipe

console = Console()
journal_app = typer.Typer(help="The journal of a run as a file.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="the run's name")]
Changes = Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE instead of the recipe's")]
Runs = Annotated[Path, typer.Option(help="the folder of all runs")]
Minutes = Annotated[float | None, typer.Option(help="end after this time")]
Candidates = Annotated[int | None, typer.Option(help="end when this many have reached a worker")]
Steps = Annotated[int | None, typer.Option(help="end when this many training steps are spent")]
Proposals = Annotated[int | None, typer.Option(help="end when this many have been proposed")]
NoPin = Annotated[bool, typer.Option("--no-pin", help="do not tie workers to cores")]
Trust = Annotated[bool, typer.Option("--trust", help="I know the code that this run judges candidates by")]
Index = Annotated[int, typer.Argument(help="the candidate's number, as `evonorm top` shows it")]


def search(
    recipe: Annotated[Path, typer.Argument(help="a TOML file, or laptop, paper_b, ...")] = Path("recipes/laptop.toml"),
    name: Annotated[str | None, typer.Option(help="of the run; by default the recipe's with a number")] = None,
    minutes: Minutes = None,
    candidates: Candidates = None,
    steps: Steps = None,
    proposals: Proposals = None,
    changes: Changes = None,
    seed: Annotated[int | None, typer.Option(help="instead of the recipe's")] = None,
    data: Annotated[str | None, typer.Option(help="other pictures than the recipe's, e.g. digits")] = None,
    workers: WorkersOption = None,
    address: Address = None,
    insecure: Insecure = False,
    no_pin: NoPin = False,
    trust: Trust = False,
    runs: Runs = Path("runs"),
) -> None:
    """Searches for layers. Ctrl-C ends it with everything written; `evonorm resume` goes on.

    Example: evonorm search recipes/laptop.toml --name first --minutes 10

    Example: evonorm search recipes/laptop.toml --set search.method=random --set fitness.training.steps=150

    Example: evonorm search paper_b --workers ray --address auto --set search.order=arrival
    """
    from evonorm.cli.search_display import Terminal
    from evonorm.runner import Budget, all_changes, load_recipe, start_search

    budget = Budget(minutes, candidates, steps, proposals)
    chosen = load_recipe(recipe, all_changes(changes, data, seed))
    who = _pinned(chosen_workers(chosen.workers, workers, address, insecure), no_pin)
    chosen = dataclasses.replace(chosen, workers=who)
    folder = RunFolder(runs, fresh_name(runs, recipe.stem) if name is None else name)
    console.print(f"run {folder.name}: {budget}; data {chosen.fitness.get('data')}", highlight=False)
    _finish(folder, lambda: start_search(folder, chosen, budget, Terminal(console), recipe, trust))


def resume(
    name: Name,
    recipe: Annotated[Path | None, typer.Argument(help="checked against the run's own, if given")] = None,
    minutes: Minutes = None,
    candidates: Candidates = None,
    steps: Steps = None,
    proposals: Proposals = None,
    workers: WorkersOption = None,
    address: Address = None,
    insecure: Insecure = False,
    no_pin: NoPin = False,
    trust: Trust = False,
    runs: Runs = Path("runs"),
) -> None:
    """Goes on with a run, by default to the bound that it was begun with. Candidates and steps count from its begin.

    A run from elsewhere that names code which is not evonorm's needs --trust, once.

    Example: evonorm resume first --minutes 10
    """
    from evonorm.cli.search_display import Terminal
    from evonorm.runner import Budget, resume_search

    folder, budget = RunFolder(runs, name), Budget(minutes, candidates, steps, proposals)
    with folder.reader() as reader:
        settings = _worker_settings(reader, workers, address, insecure, no_pin)
    _finish(folder, lambda: resume_search(folder, budget, Terminal(console), recipe, settings, trust))


def _worker_settings(
    reader: Reader, workers: str | None, address: str | None, insecure: bool, no_pin: bool
) -> WorkerRecipe | None:
    """Who computes for a run that goes on; None where it asks for a cluster and nobody has named one."""
    from evonorm.runner import stored_recipe

    stored = dataclasses.replace(stored_recipe(reader).workers, insecure=False)  # to be said each time
    settings = _pinned(chosen_workers(stored, workers, address, insecure), no_pin)
    named = settings.kind != "ray" or workers is not None or address is not None
    return settings if named else None


def retry(
    name: Name,
    candidates: Annotated[list[int], typer.Argument(help="numbers of candidates that failed")],
    workers: WorkersOption = None,
    address: Address = None,
    insecure: Insecure = False,
    no_pin: NoPin = False,
    trust: Trust = False,
    runs: Runs = Path("runs"),
) -> None:
    """Tries candidates again whose evaluation failed: killed workers, time limits, errors. Nothing new is proposed.

    Each gets a number of its own, and the seed that it had. What failed stays in the journal as it is.

    Example: evonorm retry first 28 107
    """
    from evonorm.cli.search_display import Terminal
    from evonorm.runner import retry_candidates

    folder = RunFolder(runs, name)
    with folder.reader() as reader:
        settings = _worker_settings(reader, workers, address, insecure, no_pin)
    tried = retry_candidates(folder, candidates, Terminal(console), settings, trust)
    with folder.reader() as reader:
        for failed, index in tried.items():
            words = f"candidate {failed}, again as {index}: {verdict_words(reader.candidate(index).outcome)}"
            console.print(words, markup=False, highlight=False, soft_wrap=True)


def status(name: Name, runs: Runs = Path("runs")) -> None:
    """How a run stands, also while it runs: what was proposed, turned down and trained, and what it cost.

    Example: evonorm status first
    """
    from evonorm.cli.run_status import run_status

    folder = RunFolder(runs, name)
    with folder.checked_reader() as reader:
        console.print(run_status(folder, reader), highlight=False, soft_wrap=True)


def top(
    name: Name,
    number: Annotated[int, typer.Option("-n", min=1, help="how many")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="formulas as they were found, not simplified")] = False,
    front: Annotated[str | None, typer.Option(help="the best at each cost: nodes, instructions or time")] = None,
    runs: Runs = Path("runs"),
) -> None:
    """The best layers of a run beside its references: each function once, by its mean over n runs.

    Example: evonorm top first -n 5

    Example: evonorm top first --front nodes
    """
    if front is not None:
        _print_front(RunFolder(runs, name), front, number, raw)
        return
    with RunFolder(runs, name).checked_reader() as reader:
        rows, references = leaderboard(reader, number), reader.references()
    if as_json:
        found = {
            "top": [row_json(row) for row in rows],
            "references": [*map(candidate_json, references)],
        }
        typer.echo(json.dumps(found, indent=2))
    else:
        console.print(leaderboard_text(rows, references, raw), highlight=False, soft_wrap=True)


def _print_front(folder: RunFolder, price: str, number: int, raw: bool) -> None:
    from evonorm.runner import TIME, priced_front

    with folder.checked_reader() as reader:
        rows = leaderboard(reader, number if price == TIME else None)
    console.print(front_text(*priced_front(rows, price), raw), highlight=False, soft_wrap=True)


def show(name: Name, candidate: Index, runs: Runs = Path("runs")) -> None:
    """One candidate: formula, LaTeX, drawing, scores, how it fared at each test, ancestry, cost.

    Example: evonorm show first 117
    """
    with RunFolder(runs, name).checked_reader() as reader:
        page = candidate_page(reader, reader.candidate(candidate))
    console.print(page, highlight=False, soft_wrap=True)


@journal_app.command()
def digest(name: Name, runs: Runs = Path("runs")) -> None:
    """One line that two runs share exactly if they are the same search.

    Example: evonorm journal digest first
    """
    folder = RunFolder(runs, name)
    folder.reader().close()
    typer.echo(journal_digest(folder.journal))


@journal_app.command()
def check(name: Name, runs: Runs = Path("runs")) -> None:
    """Reads a whole journal: every page, and every row against its checksum. Exit code 1 and the place, if one is off.

    Example: evonorm journal check first
    """
    folder = RunFolder(runs, name)
    try:
        folder.reader().close()
        counted = check_journal(folder.journal)
    except DamagedJournalError as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(1) from None
    rows = ", ".join(f"{number:,} {table}" for table, number in counted.items())
    seals = "" if "outcomes" in counted else " (without checksums: the next `resume` adds them)"
    console.print(f"{folder.journal}: whole, {rows}{seals}", markup=False, highlight=False, soft_wrap=True)


@journal_app.command()
def repair(name: Name, runs: Runs = Path("runs")) -> None:
    """Keeps the longest good part of a damaged journal, or its snapshot if that has more; the damaged file stays.

    Example: evonorm journal repair first
    """
    folder = find_run(runs, name)
    with RunLock(folder.path):
        try:
            check_journal(folder.journal)
        except DamagedJournalError as error:
            console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        else:
            console.print(f"{folder.journal} is whole; nothing to repair.", highlight=False, soft_wrap=True)
            return
        done = repair_journal(folder.journal)
    kept, dropped = (", ".join(f"{each[t]:,} {t}" for t in each) for each in (done.kept, done.dropped))
    console.print(
        f"kept {kept} of {done.source.name}; dropped {dropped} that could be read but hang on what is lost."
        f" What was lost is evaluated again: {folder.command('resume')}. The damaged file is {done.damaged}.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


@journal_app.command("export")
def export_command(
    name: Name,
    file: Path,
    slim: Annotated[bool, typer.Option(help="only count what was turned down without training")] = False,
    force: Annotated[bool, typer.Option(help="overwrite the file")] = False,
    runs: Runs = Path("runs"),
) -> None:
    """Packs a run, also one that is running, into one file. A search goes on from a slim one too, a tenth as large.

    Example: evonorm journal export first first.evonorm --slim
    """
    folder = RunFolder(runs, name)
    folder.reader().close()
    if file.exists() and not force:
        raise ValueError(f"{file} exists already. Choose another name, or --force.")
    console.print(f"{file}: {export_journal(folder.journal, file, slim) / 1e6:.2f} MB", highlight=False)


@journal_app.command("import")
def import_command(
    file: Path, name: Annotated[str | None, typer.Option(help="another name")] = None, runs: Runs = Path("runs")
) -> None:
    """Unpacks a run, to look at it or to go on with it here.

    Example: evonorm journal import first.evonorm
    """
    folder = RunFolder(runs, name or exported_name(file))
    if folder.journal.exists():
        raise ValueError(f"there is a run {folder.name!r} in {runs} already. Give another --name.")
    import_journal(file, folder.journal)
    console.print(f"{folder.path}. Go on with: {folder.command('resume')}", highlight=False, soft_wrap=True)


def _finish(folder: RunFolder, run: Callable[[], str]) -> None:
    """Runs a session and tells how it ended, with the leaderboard."""
    from evonorm.cli.run_status import run_status

    try:
        ended = run()
    except JournalFullError as error:
        console.print(f"{error}\nThen go on with: {folder.command('resume')}", style="red", highlight=False)
        raise typer.Exit(1) from None
    with folder.reader() as reader:
        console.print(leaderboard_text(leaderboard(reader, 5), reader.references()), highlight=False, soft_wrap=True)
        console.print(run_status(folder, reader), highlight=False, soft_wrap=True)
    why = "Stopped" if ended == End.STOPPED else f"Its bound is met ({ended})"
    more = () if ended in (End.STOPPED, End.MINUTES) else (f"--{ended}", "MORE")  # minutes count from the next begin
    console.print(
        f"{why}; all is written. Go on: {folder.command('resume', *more)}."
        f" Look closer: {folder.command('show', 'CANDIDATE')}",
        highlight=False,
        soft_wrap=True,
    )


def _pinned(settings: WorkerRecipe, no_pin: bool) -> WorkerRecipe:
    return dataclasses.replace(settings, pin=settings.pin and not no_pin)
