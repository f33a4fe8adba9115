"""The command line: one sub-command per thing a person does; wiring only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from evonorm.graph import CATALOG

app = typer.Typer(
    help="Search, train and ship normalization-activation layers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console()


@app.callback()
def _root() -> None:
    """Keeps sub-commands named even while there is only one."""


@app.command()
def layers() -> None:
    """Lists every named layer with its formula.

    Example: evonorm layers
    """
    table = Table("name", "formula (then * gamma + beta)", "where in the paper")
    for entry in CATALOG.values():
        formula = entry.formula or "(not in the formula language)"
        table.add_row(entry.name, formula + (" [affine inside]" if entry.affine_inside else ""), entry.source)
    console.print(table, markup=False)


@app.command()
def data(
    name: Annotated[str, typer.Argument(help="cifar10, or digits (comes with scikit-learn, nothing to get)")],
    source: Annotated[
        Path | None, typer.Option("--from", help="a folder or archive that holds CIFAR-10, instead of the public ones")
    ] = None,
) -> None:
    """Gets a data set once, checks it and keeps it; says where. A second call is instant.

    Example: evonorm data cifar10

    Example: evonorm data cifar10 --from ~/cifar-10-binary.tar.gz
    """
    from evonorm.data import cifar10_path, get_cifar10, load_data

    if name == "cifar10":
        with _bar() as bar:
            origin = get_cifar10(source, lambda what, done, total: bar(f"getting CIFAR-10: {what}", done, total))
        console.print(f"{cifar10_path()} (from {origin})", highlight=False, soft_wrap=True)
    elif source is not None:
        raise ValueError("--from is for cifar10.")
    found = load_data(name)
    sizes = f"{len(found.training)} training, {len(found.validation)} validation, {len(found.test)} test pictures"
    console.print(f"{found.name}: {sizes}", highlight=False)


@app.command()
def evaluate(
    layers: Annotated[list[str] | None, typer.Argument(help="names or formulas")] = None,
    against: Annotated[list[str] | None, typer.Option(help="rivals, measured in the same run")] = None,
    recipe: Annotated[Path, typer.Option(help="the [fitness] table of this file")] = Path("recipes/laptop.toml"),
    data: Annotated[str | None, typer.Option(help="other pictures than the recipe's: cifar10 or digits")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="how many; more than one gives mean ± spread")] = 1,
    keep: Annotated[Path | None, typer.Option(help="a folder where outcomes stay, to go on after a stop")] = None,
    test_set: Annotated[bool, typer.Option("--test-set", help="also the test pictures, for a final number")] = False,
    verdicts: Annotated[bool, typer.Option("--verdicts", help="only the rejection tests, all of them")] = False,
) -> None:
    """Runs the whole protocol on an idea for a layer, beside its rivals.

    Example: evonorm evaluate "x * sigmoid(x) / rms_whcg(x)" --against bn-relu --against evonorm-s0

    Example: evonorm evaluate evonorm-b0 bn-relu --recipe recipes/paper_b.toml --keep runs/b0 --test-set

    Example: evonorm evaluate --verdicts --recipe recipes/paper_b.toml --keep runs/verdicts
    """
    from evonorm.data import load_data
    from evonorm.experiments import evaluate_layer
    from evonorm.experiments.verdicts import distinct_layers, find_verdicts, verdict_rows
    from evonorm.fitness.evaluate import TESTS

    chosen = list(dict.fromkeys([*(layers or []), *(against or [])]))
    if not chosen and not verdicts:
        raise ValueError("name at least one layer, e.g. evonorm evaluate evonorm-s0 --against bn-relu")
    fitness = evaluate_layer.read_fitness_recipe(recipe, data)
    evaluate_layer.check_layers(chosen)
    console.print(f"data: {load_data(fitness.data).name}; recipe: {recipe}", highlight=False)
    with _bar() as bar:

        def watch(layer: str, seed: int, event: evaluate_layer.Progress) -> None:
            bar(f"{layer[:40]} (seed {seed}): {event.stage} on {event.anchor}", event.step, event.steps)

        if verdicts:
            path = (keep or Path("runs/verdicts")) / "verdicts.jsonl"
            found = list(find_verdicts(chosen or distinct_layers(), fitness, range(seeds), path, watch))
        else:
            measured = evaluate_layer.evaluate_layers(
                chosen, fitness, range(seeds), watch=watch, keep=keep, test_set=test_set
            )
    if verdicts:
        columns = [f"{anchor}: {test}" for anchor in fitness.anchors for test in TESTS]
        _print_table(["layer", *columns], verdict_rows(found, fitness.anchors))
        return
    columns = [f"{anchor}, %" for anchor in fitness.anchors]
    _print_table(["layer", *columns, "seconds", ""], evaluate_layer.summary_rows(measured, fitness.anchors))
    if test_set:
        rows = evaluate_layer.summary_rows(measured, fitness.anchors, "test_accuracy")
        console.print("On the test pictures:")
        _print_table(["layer", *columns, "seconds", ""], rows)


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    table = Table(*columns)
    for row in rows:
        table.add_row(*row)
    console.print(table, markup=False)


@contextmanager
def _bar() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr that is told (what, done, total); total 0 means unknown."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda what, done, total: progress.update(
            task, description=what.replace("[", "("), completed=done, total=total or None
        )


def main() -> None:
    """Entry point: mistakes of the user end in one message and exit code 2, never in a traceback."""
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False)
        sys.exit(2)
