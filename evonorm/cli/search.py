"""The sub-commands about a search: begin, go on, look, take something home. Wiring only; `root.py` adds them."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evonorm.cli.candidate_page import candidate_page
from evonorm.cli.leaderboard import candidate_json, leaderboard_text, row_json
from evonorm.cli.run_status import run_status
from evonorm.cli.search_display import Terminal
from evonorm.export import layer_source
from evonorm.journal import (
    End,
    JournalFullError,
    RunFolder,
    export_journal,
    exported_name,
    fresh_name,
    import_journal,
    journal_digest,
    leaderboard,
)
from evonorm.runner import Budget, all_changes, load_recipe, resume_search, start_search, stored_recipe
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
Number = Annotated[int | None, typer.Option("--workers", help="processes; 0 computes in this one")]
NoPin = Annotated[bool, typer.Option("--no-pin", help="do not tie workers to cores")]
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
    workers: Number = None,
    no_pin: NoPin = False,
    runs: Runs = Path("runs"),
) -> None:
    """Searches for layers. Ctrl-C ends it with everything written; `evonorm resume` goes on.

    Example: evonorm search recipes/laptop.toml --name first --minutes 10

    Example: evonorm search recipes/laptop.toml --set search.method=random --set fitness.training.steps=150
    """
    budget = Budget(minutes, candidates, steps, proposals)
    chosen = load_recipe(recipe, all_changes(changes, data, seed))
    chosen = dataclasses.replace(chosen, workers=_changed_workers(chosen.workers, workers, no_pin))
    folder = RunFolder(runs, name or fresh_name(runs, recipe.stem))
    console.print(f"run {folder.name}: {budget}; data {chosen.fitness.get('data')}", highlight=False)
    _finish(folder, lambda: start_search(folder, chosen, budget, Terminal(console), recipe))


def resume(
    name: Name,
    recipe: Annotated[Path | None, typer.Argument(help="checked against the run's own, if given")] = None,
    minutes: Minutes = None,
    candidates: Candidates = None,
    steps: Steps = None,
    proposals: Proposals = None,
    workers: Number = None,
    no_pin: NoPin = False,
    runs: Runs = Path("runs"),
) -> None:
    """Goes on with a run, by default to the bound that it was begun with. Candidates and steps count from its begin.

    Example: evonorm resume first --minutes 10
    """
    folder, budget = RunFolder(runs, name), Budget(minutes, candidates, steps, proposals)
    with folder.reader() as reader:
        settings = _changed_workers(stored_recipe(reader).workers, workers, no_pin)
    _finish(folder, lambda: resume_search(folder, budget, Terminal(console), recipe, settings))


def status(name: Name, runs: Runs = Path("runs")) -> None:
    """How a run stands, also while it runs: what was proposed, turned down and trained, and what it cost.

    Example: evonorm status first
    """
    folder = RunFolder(runs, name)
    with folder.reader() as reader:
        console.print(run_status(folder, reader), highlight=False, soft_wrap=True)


def top(
    name: Name,
    number: Annotated[int, typer.Option("-n", help="how many")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
    runs: Runs = Path("runs"),
) -> None:
    """The best layers of a run beside its references: each function once, by its mean over n runs.

    Example: evonorm top first -n 5
    """
    with RunFolder(runs, name).reader() as reader:
        rows, references = leaderboard(reader, number), reader.references()
    if as_json:
        found = {
            "top": [row_json(row) for row in rows],
            "references": [*map(candidate_json, references)],
        }
        typer.echo(json.dumps(found, indent=2))
    else:
        console.print(leaderboard_text(rows, references), highlight=False, soft_wrap=True)


def show(name: Name, candidate: Index, runs: Runs = Path("runs")) -> None:
    """One candidate: formula, LaTeX, drawing, scores, how it fared at each test, ancestry, cost.

    Example: evonorm show first 117
    """
    with RunFolder(runs, name).reader() as reader:
        page = candidate_page(reader, reader.candidate(candidate))
    console.print(page, highlight=False, soft_wrap=True)


def export(
    name: Name,
    candidate: Index,
    file: Annotated[Path, typer.Argument(help="a Python file that does not exist yet")],
    class_name: Annotated[str, typer.Option("--class", help="of the layer in the file")] = "FoundNormAct",
    runs: Runs = Path("runs"),
) -> None:
    """Writes a candidate as a Python module that needs torch and nothing else.

    Example: evonorm export first 117 layer.py
    """
    with RunFolder(runs, name).reader() as reader:
        proposal = reader.candidate(candidate).proposal
    if proposal.name:
        raise ValueError(
            f"{proposal.name} is a reference of the run: evonorm.create_layer({proposal.name!r}, channels)."
        )
    source = layer_source(proposal.graph, class_name, f"candidate {candidate} of the run {name}")
    with file.open("x") as out:
        out.write(source)
    console.print(f"{file}: class {class_name}, {proposal.graph}", highlight=False, soft_wrap=True)


@journal_app.command()
def digest(name: Name, runs: Runs = Path("runs")) -> None:
    """One line that two runs share exactly if they are the same search.

    Example: evonorm journal digest first
    """
    folder = RunFolder(runs, name)
    folder.reader().close()
    typer.echo(journal_digest(folder.journal))


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
    folder.path.mkdir(parents=True, exist_ok=True)
    import_journal(file, folder.journal)
    console.print(f"{folder.path}. Go on with: {folder.command('resume')}", highlight=False, soft_wrap=True)


def add_commands(app: typer.Typer) -> None:
    for command in (search, resume, status, top, show, export):
        app.command()(command)
    app.add_typer(journal_app, name="journal")


def _finish(folder: RunFolder, run: Callable[[], str]) -> None:
    """Runs a session and tells how it ended, with the leaderboard."""
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


def _changed_workers(settings: WorkerRecipe, number: int | None, no_pin: bool) -> WorkerRecipe:
    if number is not None and number < 0:
        raise ValueError(f"--workers must not be negative, got {number}.")
    if number == 0:
        settings = dataclasses.replace(settings, kind="inline")
    elif number is not None:
        settings = dataclasses.replace(settings, kind="processes", number=number)
    return dataclasses.replace(settings, pin=settings.pin and not no_pin)
