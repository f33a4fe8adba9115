"""The sub-command `evaluate`. Wiring only."""

from itertools import chain, groupby, repeat
from operator import itemgetter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from evonorm.cli.search import Changes
from evonorm.cli.work_bars import told, work_bars
from evonorm.cli.worker_options import Address, Insecure, WorkersOption, chosen_workers
from evonorm.data import load_data
from evonorm.fitness import TESTS, FitnessRecipe
from evonorm.pictures import markdown_table, write_figures
from evonorm.report import curves_of_layers
from evonorm.runner import (
    Measurement,
    all_changes,
    check_layers,
    distinct_layers,
    evaluate_layers,
    find_verdicts,
    kept_results,
    read_fitness_recipe,
    summary_notes,
    summary_rows,
    verdict_rows,
)
from evonorm.workers import WorkerRecipe

console = Console()


def evaluate(
    layers: Annotated[list[str] | None, typer.Argument(help="names or formulas")] = None,
    against: Annotated[list[str] | None, typer.Option(help="rivals, measured in the same run")] = None,
    recipe: Annotated[Path, typer.Option(help="its fitness table is used")] = Path("recipes/laptop.toml"),
    changes: Changes = None,
    data: Annotated[str | None, typer.Option(help="other pictures than the recipe's: cifar10 or digits")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="how many; more than one gives mean ± spread")] = 1,
    keep: Annotated[
        Path | None, typer.Option(help="a file or folder where outcomes stay, to go on after a stop")
    ] = None,
    test_set: Annotated[bool, typer.Option("--test-set", help="also the test pictures, for a final number")] = False,
    verdicts: Annotated[bool, typer.Option("--verdicts", help="only the rejection tests, all of them")] = False,
    out: Annotated[Path | None, typer.Option(help="a folder for figures of the trainings, with their data")] = None,
    workers: WorkersOption = "0",
    address: Address = None,
    insecure: Insecure = False,
) -> None:
    """Runs the whole protocol on an idea for a layer, beside its rivals.

    Example: evonorm evaluate "x * sigmoid(x) / rms_whcg(x)" --against bn-relu --against evonorm-s0

    Example: evonorm evaluate evonorm-b0 bn-relu --recipe recipes/paper_b.toml --keep runs/b0 --test-set

    Example: evonorm evaluate evonorm-b0 bn-relu --seeds 2 --workers 2 --set fitness.threads=1 --keep runs/two

    Example: evonorm evaluate --verdicts --recipe recipes/paper_b.toml --keep runs/verdicts
    """
    chosen = list(dict.fromkeys([*(layers or []), *(against or [])]))
    if not chosen and not verdicts:
        raise ValueError("name at least one layer, e.g. evonorm evaluate evonorm-s0 --against bn-relu")
    who = chosen_workers(WorkerRecipe(), workers, address, insecure)
    if verdicts and (test_set or out is not None or who.kind != "inline"):
        raise ValueError(
            "--verdicts trains no layer to its end: --test-set, --out and --workers are for evaluations without it."
        )
    fitness = read_fitness_recipe(recipe, all_changes(changes, data))
    check_layers(chosen)
    console.print(f"data: {load_data(fitness.data).name}; recipe: {recipe}", highlight=False, soft_wrap=True)
    if verdicts:
        _print_verdicts(chosen, fitness, seeds, keep or Path("runs/verdicts"))
    else:
        measured = _print_scores(chosen, fitness, seeds, keep, test_set, who)
        if out is not None:
            outcomes = {layer: [each.outcome for each in measured if each.layer == layer] for layer in chosen}
            write_figures(curves_of_layers(outcomes), out)


def _print_scores(
    layers: list[str], fitness: FitnessRecipe, seeds: int, keep: Path | None, test_set: bool, workers: WorkerRecipe
) -> list[Measurement]:
    kept = kept_results(keep, _say_kept) if keep else None
    with work_bars() as bars:
        measured = evaluate_layers(
            layers, fitness, range(seeds), watch=told(bars), kept=kept, test_set=test_set, workers=workers
        )
    kinds = {"validation %": "accuracy", "test %": "test_accuracy"} if test_set else {"validation %": "accuracy"}
    rows = summary_rows(measured, fitness.anchors, tuple(kinds.values()))
    title = f"{fitness.training.steps} steps, {seeds} seed{'s' if seeds > 1 else ''}"
    table = Table("anchor", "layer", *kinds, "s a step", title=title)
    for anchor, section in groupby(rows, itemgetter(0)):
        for name, (_, *cells) in zip(chain([anchor], repeat("")), section, strict=False):
            table.add_row(name, *cells)
        table.add_section()
    console.print(table, markup=False)
    for note in summary_notes(measured):
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    return measured


def _print_verdicts(layers: list[str], fitness: FitnessRecipe, seeds: int, keep: Path) -> None:
    kept = kept_results(keep, _say_kept)
    with work_bars() as bars:
        found = list(find_verdicts(layers or distinct_layers(), fitness, range(seeds), kept, told(bars)))
    columns = ["layer", *(f"{anchor}: {test}" for anchor in fitness.anchors for test in TESTS)]
    rows = verdict_rows(found, fitness.anchors)
    table = kept.path.with_name("verdicts.md")
    table.write_text(markdown_table(columns, rows))
    _print_table(f"verdicts, kept in {kept.path} and {table.name}", columns, rows)


def _say_kept(line: str, _: int) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*row)
    console.print(table, markup=False)
