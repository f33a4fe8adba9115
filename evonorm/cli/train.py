"""`evonorm train`: a layer in a task, to the end of a recipe."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from evonorm.cli.search import Changes
from evonorm.runner import Trained, kept_results, load_task_recipe, train
from evonorm.training import TrainingRun

console = Console()


def add_train_command(app: typer.Typer) -> None:
    app.command("train")(train_layers)


def train_layers(
    recipe: Annotated[Path, typer.Argument(help="a TOML file, or one that ships with evonorm, such as cifar10/resnet")],
    layer: Annotated[list[str], typer.Option(help="a name or a formula; give it again for another one")],
    seeds: Annotated[int, typer.Option(min=1, help="how many, from the recipe's seed on")] = 1,
    keep: Annotated[Path, typer.Option(help="a file or folder where results and checkpoints stay")] = Path(
        "runs/train"
    ),
    changes: Changes = None,
) -> None:
    """Trains a model with a layer by a recipe; the same command again goes on where it was stopped.

    Example: evonorm train cifar10/resnet --layer evonorm-b0 --layer bn-relu

    Example: evonorm train cifar10/resnet --layer "x * sigmoid(x) / rms_whcg(x)" --set training.steps=400
    """
    kept = kept_results(keep)
    chosen = load_task_recipe(recipe, changes or [])
    found: dict[tuple[str, int], Trained] = {}
    for seed in range(chosen.seed, chosen.seed + seeds):
        mine = load_task_recipe(recipe, [*(changes or []), f"seed={seed}"])
        for each in layer:
            with _bar(f"{each}, seed {seed}", mine.training.steps) as on_step:
                found[each, seed] = train(mine, each, kept, on_step)
    _print(found, str(recipe))
    console.print(f"kept in {kept.path}", highlight=False, soft_wrap=True)


@contextmanager
def _bar(who: str, steps: int) -> Iterator[Callable[[TrainingRun], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(who.replace("[", "("), total=steps)

        def on_step(run: TrainingRun) -> None:
            latest = f", {run.curve[-1][1]:.4g} at step {run.curve[-1][0]}" if run.curve else ""
            text = f"{who}: loss {run.losses[-1]:.3f}{latest}".replace("[", "(")
            progress.update(bar, description=text, completed=run.step)

        yield on_step


def _print(found: dict[tuple[str, int], Trained], recipe: str) -> None:
    names = list(dict.fromkeys(name for trained in found.values() for name in trained.measured))
    table = Table("layer", "seed", *names, "steps", "s a step", title=recipe)
    for (layer, seed), trained in found.items():
        cells = [f"{trained.measured[name][-1][1]:.4f}" if trained.measured.get(name) else "-" for name in names]
        ended = "" if trained.ending == "reached" else f" ({trained.ending.replace('_', ' ')})"
        pace = f"{trained.seconds / max(1, trained.steps):.3f}"
        table.add_row(layer, str(seed), *cells, f"{trained.steps}{ended}", pace)
    console.print(table, markup=False)
