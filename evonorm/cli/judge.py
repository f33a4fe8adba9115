"""`evonorm judge`: the best families of a search under fresh seeds, with intervals."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from evonorm.cli.search import Changes, Name, Runs
from evonorm.cli.work_bars import told, work_bars
from evonorm.cli.worker_options import Address, Insecure, WorkersOption, chosen_workers
from evonorm.fitness import FitnessRecipe
from evonorm.foundation import Estimate
from evonorm.journal import RunFolder
from evonorm.runner import (
    FIRST_SEED,
    Contender,
    Judged,
    contenders,
    evaluate_layers,
    judged,
    judging_recipe,
    kept_results,
    power_table,
    seconds_of_one,
)
from evonorm.workers import WorkerRecipe

console = Console()


def judge(
    name: Name,
    recipe: Annotated[
        Path | None, typer.Option(help="whose trainings; by default the run's own. paper_b and paper_s: the real nets")
    ] = None,
    changes: Changes = None,
    top: Annotated[int, typer.Option(min=1, help="how many of the best families")] = 5,
    seeds: Annotated[int, typer.Option(min=2, help="how many, the same for everybody")] = 4,
    first_seed: Annotated[
        int, typer.Option(min=0, help="the first one; a seed that chose a layer is burnt")
    ] = FIRST_SEED,
    against: Annotated[list[str] | None, typer.Option(help="rivals beside the run's references")] = None,
    test_set: Annotated[bool, typer.Option("--test-set", help="also the test pictures, for a final number")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="only the table of what so many seeds can show")] = False,
    workers: WorkersOption = "1",
    address: Address = None,
    insecure: Insecure = False,
    runs: Runs = Path("runs"),
) -> None:
    """Judges the best families of a run again, beside its references: fresh seeds, paired differences, intervals.

    A search shows its luckiest; this tells what they are worth. Says first what so many seeds can show. The same
    command again goes on where it was stopped, and more seeds cost only those; results stay in the run's folder.

    Example: evonorm judge first --top 5 --seeds 6 --workers 2

    Example: evonorm judge first --recipe paper_b --set fitness.training.steps=400 --top 3 --seeds 3 --test-set
    """
    folder, who = RunFolder(runs, name), chosen_workers(WorkerRecipe(), workers, address, insecure)
    every = contenders(folder, top, against or [])
    fitness = judging_recipe(folder, recipe, changes or [])
    with folder.reader() as reader:
        seconds = seconds_of_one(reader, fitness)
    _print_plan(fitness, len(every), seeds, seconds, max(1, who.number))
    if plan:
        return
    kept = kept_results(folder.path / "judge", lambda line, _: console.print(line, highlight=False, soft_wrap=True))
    chosen = range(first_seed, first_seed + seeds)
    with work_bars() as bars:
        measured = evaluate_layers(
            [each.layer for each in every],
            fitness,
            chosen,
            watch=told(bars),
            kept=kept,
            test_set=test_set,
            workers=who,
        )
    for figure, words in _figures(fitness, test_set).items():
        _print(judged(every, measured, figure), every, f"{name}: {words}, seeds {chosen[0]} to {chosen[-1]}")


def _figures(fitness: FitnessRecipe, test_set: bool) -> dict[str, str]:
    """What is shown, by the figure's name in a stage; what decides comes first."""
    averaged = bool(fitness.training.average.decay)
    steps = f"after {fitness.training.steps} steps"
    found = {"accuracy": f"validation %, {'averaged' if averaged else 'last'} weights {steps}"}
    if averaged and fitness.training.average.plain:
        found["last_accuracy"] = f"validation %, last weights {steps}"
    if test_set:
        found["test_accuracy"] = f"test %, last weights and moving moments {steps}, as the paper's"
    if test_set and averaged:
        found["averaged_test_accuracy"] = f"test %, averaged weights {steps}"
    return found


def _print_plan(fitness: FitnessRecipe, layers: int, seeds: int, seconds: float | None, workers: int) -> None:
    right = [Column(head, justify="right") for head in ("seeds", "shows a difference of, points", "hours")]
    table = Table(*right, title=f"{layers} layers on {', '.join(fitness.anchors)}, {fitness.training.steps} steps")
    for row in power_table(layers, max(seeds, 12), seconds=seconds, workers=workers):
        hours = "not known" if row.hours is None else f"{row.hours:.2f}"
        table.add_row(
            str(row.seeds), f"{100 * row.difference:.1f}", hours, style="bold" if row.seeds == seeds else None
        )
    console.print(table)
    console.print("in 4 of 5 cases, if one score spreads by 0.8 points as on the laptop's nets", style="dim")


def _print(rows: list[Judged], every: list[Contender], title: str) -> None:
    """Lines, not a table: formulas may be long."""
    references = [row for row in rows if row.contender.candidate is None]
    heads = ["mean", *(f"less {row.contender.layer}" for row in references)]
    console.print(f"\n{title}\n", highlight=False)
    console.print(
        f"{'':4}{'candidate':>11}{'family':>8}{'n':>4}{_columns(heads)}   layer", style="bold", highlight=False
    )
    for place, row in enumerate(rows, start=1):
        of = row.contender
        cells = [_interval(row.mean), *(_less(row, other) for other in references)]
        who = f"{place:4}{'reference' if of.candidate is None else of.candidate:>11}{of.family_size or '':>8}"
        notes = "".join(
            f"; ahead of {other.contender.layer} on every net" for other in references if _leads(row, other)
        )
        broken = f"; {row.broken} of {len(row.by_seed)} broke, counted as 0" if row.broken else ""
        text = f"{who}{len(row.by_seed):4}{_columns(cells)}   {of.layer}{notes}{broken}"
        console.print(
            text, style="dim" if of.candidate is None else None, markup=False, highlight=False, soft_wrap=True
        )
    hint = "Intervals are of 95 %; one that holds 0 shows nothing. The best of many is still chosen by luck in part."
    console.print(f"\n{hint} {len(every)} layers were judged.", style="dim", highlight=False)


def _leads(row: Judged, other: Judged) -> bool:
    return row is not other and len(row.by_seed) > 1 and row.ahead_everywhere(other)


def _less(row: Judged, other: Judged) -> str:
    return "" if row is other else _interval(row.less(other), sign="+")


def _interval(found: Estimate, sign: str = "") -> str:
    """In points: the mean and its interval."""
    mean = f"{100 * found.mean:{sign}.1f}"
    if found.low is None or found.high is None:
        return mean
    return f"{mean} [{100 * found.low:{sign}.1f}, {100 * found.high:{sign}.1f}]"


def _columns(words: list[str]) -> str:
    return "".join(f"{word:>22}" for word in words)
