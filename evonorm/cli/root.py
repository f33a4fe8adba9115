"""The command line: one sub-command per thing a person does; wiring only."""

import sys
from functools import partial
from itertools import chain, groupby, repeat
from operator import itemgetter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from evonorm import __version__
from evonorm.cli.bench import add_bench_command
from evonorm.cli.calibrate import add_calibrate_command
from evonorm.cli.detections import add_detections_command
from evonorm.cli.judge import add_judge_command
from evonorm.cli.plugins import add_plugins_command
from evonorm.cli.report import add_report_commands
from evonorm.cli.rerank import add_rerank_command
from evonorm.cli.sample import add_sample_command
from evonorm.cli.search import Changes, add_commands
from evonorm.cli.train import add_train_command
from evonorm.cli.work_bars import told, work_bars
from evonorm.cli.worker_options import Address, Insecure, WorkersOption, chosen_workers
from evonorm.data import cifar10_path, get_cifar10, load_data
from evonorm.fitness import TESTS, FitnessRecipe
from evonorm.foundation import harmless
from evonorm.graph import CATALOG
from evonorm.models import LEGEND, draw_positions, model_cost, trace_model
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
from evonorm.tasks import FID_2015, SLIM, get_weights
from evonorm.workers import WorkerRecipe

app = typer.Typer(
    help="Search, train and ship normalization-activation layers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console()
add_commands(app)
add_report_commands(app)
add_calibrate_command(app)
add_bench_command(app)
add_train_command(app)
add_detections_command(app)
add_judge_command(app)
add_rerank_command(app)
add_sample_command(app)
add_plugins_command(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        console.print(f"evonorm {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="The version, and nothing else.")
    ] = False,
) -> None:
    """Search, train and ship normalization-activation layers."""


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
def cost(
    model: Annotated[str, typer.Argument(help="A model's name, such as resnet50 or mobilenetv2-cifar.")],
    layer: Annotated[
        list[str] | None, typer.Option(help="A layer's name or a formula; give it again for another row.")
    ] = None,
    image_size: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Height and width; by default what the model is for.")
    ] = None,
    width: Annotated[float, typer.Option(min=0.01, max=100, help="Channel multiplier.")] = 1.0,
    positions: Annotated[bool, typer.Option("--positions", help="Draw where the layers sit instead.")] = False,
) -> None:
    """Counts parameters and multiply-adds of a model, a row for each layer asked for.

    Example: evonorm cost resnet50 --layer bn-relu --layer evonorm-b0
    """
    if positions:
        drawing = draw_positions(trace_model(model, image_size, width=width))
        console.print(f"{drawing}\n\n{LEGEND}", markup=False, highlight=False, soft_wrap=True)
        return
    costs = [model_cost(model, each, image_size, width=width) for each in layer or ["bn-relu"]]
    as_paper = ["paper's way"] if any(each.paper_multiply_adds for each in costs) else []
    columns = ("layer", "parameters", "convolutions", "layers", "together", *as_paper)
    table = Table(*columns, title=f"{model}, multiply-adds per image")
    for each in costs:
        counts = [each.conv_multiply_adds, each.layer_multiply_adds, each.multiply_adds]
        if as_paper:
            counts.append(each.paper_multiply_adds or 0)
        table.add_row(each.layer, f"{each.parameters:,}", *map(_multiply_adds, counts))
    console.print(table, markup=False)


def _multiply_adds(count: int) -> str:
    if count == 0:
        return "-"
    return f"{count / 1e9:,.2f} G" if count >= 1e11 else f"{count / 1e6:,.1f} M"


@app.command()
def data(
    name: Annotated[
        str, typer.Argument(help="cifar10, digits (comes with scikit-learn, nothing to get), or inception, for scores")
    ],
    source: Annotated[
        Path | None, typer.Option("--from", help="a folder or archive that holds CIFAR-10, instead of the public ones")
    ] = None,
) -> None:
    """Gets a data set, or the weights of Inception, once, checks it and keeps it; says where. A second call is instant.

    Example: evonorm data cifar10

    Example: evonorm data inception

    Example: evonorm data cifar10 --from ~/cifar-10-binary.tar.gz
    """
    if name == "cifar10":
        with work_bars() as bars:
            origin = get_cifar10(source, lambda what, done, total: bars("getting CIFAR-10", what, done, total))
        console.print(f"{cifar10_path()} (from {origin})", highlight=False, soft_wrap=True)
    elif source is not None:
        raise ValueError("--from is for cifar10.")
    elif name == "inception":
        get_inception()
        return
    found = load_data(name)
    sizes = f"{len(found.training)} training, {len(found.validation)} validation, {len(found.test)} test pictures"
    console.print(f"{found.name}: {sizes}", highlight=False)


def get_inception() -> None:
    """The weights that FID and KID look with, then those of the Inception score."""
    for what, weights in (("FID and KID", FID_2015), ("the Inception score", SLIM)):
        with work_bars() as bars:
            origin = get_weights(weights, partial(bars, f"Inception for {what}"))
        console.print(f"{weights.path} (for {what}, from {origin})", highlight=False, soft_wrap=True)


@app.command()
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


def run() -> None:
    """Mistakes of the user end in one message and exit code 2, never in a traceback."""
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        words = harmless(_os_words(error) if isinstance(error, OSError) else str(error))
        Console(stderr=True).print(f"error: {words}", style="red", markup=False, highlight=False)
        sys.exit(2)


def _os_words(error: OSError) -> str:
    """What the operating system says, about which file, and what to do where that is clear."""
    if error.filename is None or error.strerror is None:
        return str(error)
    cures = {
        FileExistsError: " Choose another name.",
        FileNotFoundError: " Check the name, or make the folder first.",
        PermissionError: " Choose a place where you may write.",
        IsADirectoryError: " Name a file.",
    }
    cure = next((words for kind, words in cures.items() if isinstance(error, kind)), "")
    return f"{error.filename}: {error.strerror}.{cure}"
