"""The sub-command `calibrate`. Wiring only."""

import math
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer
from numpy.random import Generator
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from evonorm.cli.search import Changes
from evonorm.cli.worker_options import Address, Insecure, WorkersOption, chosen_workers
from evonorm.data import load_data
from evonorm.fitness import FitnessRecipe, reject_by_depth
from evonorm.graph import Graph, sample_graph
from evonorm.journal import KeptResults
from evonorm.pictures import Figure, markdown_table, write_figures
from evonorm.report import Pair, agreement_figure
from evonorm.runner import (
    CORRELATION_COLUMNS,
    LAYERS,
    LEVEL_COLUMNS,
    TARGET_STEPS,
    Calibration,
    Curve,
    Level,
    Row,
    Trial,
    all_changes,
    cheap_anchors,
    cheap_trials,
    check_layers,
    commit,
    correlation_rows,
    kept_results,
    known_curve,
    level_rows,
    levels_of,
    machine,
    measure,
    mutant_of_known,
    passes_first_gate,
    random_survivors,
    read_fitness_recipe,
    score_columns,
    score_rows,
    target_trials,
    what_if_rows,
)
from evonorm.workers import WorkerRecipe

console = Console()


def calibrate(
    layers: Annotated[
        list[str] | None, typer.Argument(help="names or formulas; by default eight of the catalog")
    ] = None,
    recipe: Annotated[Path, typer.Option(help="whose stages are tried")] = Path("recipes/laptop.toml"),
    target: Annotated[Path, typer.Option(help="whose anchors and training are the truth")] = Path(
        "recipes/paper_b.toml"
    ),
    target_steps: Annotated[
        int, typer.Option(min=1, help="of training on each of the target's anchors")
    ] = TARGET_STEPS,
    random: Annotated[int, typer.Option(min=0, help="random layers that pass the first stage's gate, beside them")] = 8,
    mutants: Annotated[int, typer.Option(min=0, help="and mutants of known layers that do")] = 8,
    seed: Annotated[int, typer.Option(help="of the random ones and the mutants")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="trainings of each layer, to average over")] = 1,
    keep: Annotated[Path, typer.Option(help="a file or folder where every result stays, to go on after a stop")] = Path(
        "runs/calibrate"
    ),
    only: Annotated[Literal["cheap", "target"] | None, typer.Option(help="train one side only for now")] = None,
    changes: Changes = None,
    data: Annotated[str | None, typer.Option(help="other pictures than the recipes': cifar10 or digits")] = None,
    workers: WorkersOption = "0",
    address: Address = None,
    insecure: Insecure = False,
) -> None:
    """Does a cheap stage order layers as the expensive training does? Trains both, prints rank correlations.

    Example: evonorm calibrate --only cheap

    Example: evonorm calibrate bn-relu evonorm-b0 "x / std_wh(x)" --random 16 --seed 1 --keep runs/calibrate
    """
    who = chosen_workers(WorkerRecipe(), workers, address, insecure)
    named = tuple(dict.fromkeys(layers or LAYERS))
    check_layers(named)
    cheap, dear = (read_fitness_recipe(each, all_changes(changes, data)) for each in (recipe, target))
    kept = kept_results(keep)
    kinds = {
        "named": named,
        "random": _survivors("random layer", sample_graph, random, seed, cheap, kept),
        "mutants": _survivors("mutant", mutant_of_known, mutants, seed, cheap, kept),
    }
    chosen = tuple(dict.fromkeys(layer for layers in kinds.values() for layer in layers))
    work: list[tuple[Trial, FitnessRecipe]] = [
        *((trial, cheap) for trial in cheap_trials(chosen, cheap, range(seeds))),
        *((trial, dear) for trial in target_trials(chosen, dear, target_steps, range(seeds))),
    ]
    console.print(f"data: {load_data(cheap.data).name}; {len(chosen)} layers, kept in {kept.path}", highlight=False)
    _train([(trial, each) for trial, each in work if only in (None, trial.side)], kept, who)
    curves = [curve for trial, each in work if (curve := known_curve(kept, trial, each))]
    found = Calibration(kinds, levels_of(cheap), Level("target", dear.anchors, target_steps), tuple(curves))
    _show(found, kept.path.parent, cheap.data, seeds)


def _survivors(
    what: str, propose: Callable[[Generator], Graph], count: int, seed: int, recipe: FitnessRecipe, kept: KeptResults
) -> tuple[str, ...]:
    """With a line for each that is found; what each was asked is kept too."""
    found: list[str] = []
    tried = 0

    def passes(layer: str) -> bool:
        nonlocal tried
        tried += 1
        status.update(f"{what} {len(found) + 1} of {count}: try {tried}")
        good = reject_by_depth(Graph.parse(layer)) is None and passes_first_gate(layer, recipe, kept)
        if good:
            found.append(layer)
            line = f"{what} {len(found)} of {count}, after {tried} tries: {layer}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        return good

    with console.status("") as status:
        return tuple(random_survivors(count, seed, passes, propose))


def _train(work: list[tuple[Trial, FitnessRecipe]], kept: KeptResults, workers: WorkerRecipe) -> None:
    """A line per training; on a terminal also a bar for the one at work."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=None)

        def on_step(trial: Trial, step: int) -> None:
            what = f"{trial.layer[:40]} on {trial.anchor}".replace("[", "(")
            progress.update(bar, description=what, completed=step, total=max(trial.looks))

        for number, (curve, left) in enumerate(measure(work, kept, on_step=on_step, workers=workers), start=1):
            progress.console.print(_line(curve, number, len(work), left), highlight=False, markup=False, soft_wrap=True)


def _line(curve: Curve, number: int, total: int, left: float) -> str:
    trial = curve.trial
    ends = "" if math.isnan(left) else f"; {left / 60:.0f} min left"
    return f"{number}/{total} {trial.layer} on {trial.anchor}: {curve} ({curve.seconds:.0f} s{ends})"


def _show(found: Calibration, out: Path, data: str, seeds: int) -> None:
    """Prints the tables and writes them, with where they come from, as Markdown for the lab log."""
    minutes = {side: sum(c.seconds for c in found.curves if c.trial.side == side) / 60 for side in ("cheap", "target")}
    numbers = ", ".join(f"{len(layers)} {kind}" for kind, layers in found.kinds.items())
    here = machine()
    head = (
        f"## {time.strftime('%Y-%m-%d')}: calibration\n\n`{shlex.join(['evonorm', *sys.argv[1:]])}`; data {data};"
        f" n = {len(found.layers)} layers ({numbers}), {seeds} seed(s);"
        f" {minutes['cheap']:.1f} minutes of training on the stages, {minutes['target']:.1f} on the target;"
        f" {here['cores']} cores, {here['processor']}; commit {commit()}.\n"
    )
    tables: list[tuple[str, list[str], list[Row]]] = [
        ("Accuracy, %", score_columns(found), score_rows(found)),
        ("Rank correlation with the target", CORRELATION_COLUMNS, correlation_rows(found)),
        (
            "Spearman with the target's mean, had the stage been another (by accuracy)",
            ["steps", *cheap_anchors(found), "all of them"],
            what_if_rows(found),
        ),
        ("What each stage costs and would lose", LEVEL_COLUMNS, level_rows(found)),
    ]
    for title, columns, rows in tables:
        table = Table(*columns, title=title)
        for row in rows:
            table.add_row(*row)
        console.print(table, markup=False)
    place = out / "calibration.md"
    place.write_text("\n".join([head, *(f"{title}:\n\n{markdown_table(cols, rows)}" for title, cols, rows in tables)]))
    write_figures(_pictures(found), out)
    console.print(f"Markdown for the lab log: {place}; pictures beside it", highlight=False, soft_wrap=True)


def _pictures(found: Calibration) -> list[Figure]:
    """One per stage: its accuracies against the target's."""
    figures = []
    for level in found.levels:
        scores = [(layer, found.on_level(layer, level), found.on_target(layer)) for layer in found.layers]
        pairs = [
            Pair(layer, 100 * a, 100 * b, layer in found.kinds["named"])
            for layer, a, b in scores
            if a is not None and b is not None
        ]
        title, target = f"{level.name}, {level.steps} steps", f"target, {found.target.steps} steps"
        figures.append(agreement_figure(level.name, title, pairs, title, target))
    return figures
