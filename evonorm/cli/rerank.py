"""`evonorm rerank`: the best of a search in full-size models, on photos."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evonorm.cli.search import Changes, Name, Runs
from evonorm.cli.training_bars import training_bars
from evonorm.cli.worker_options import Address, Insecure, WorkersOption, chosen_workers
from evonorm.journal import RunFolder
from evonorm.runner import Reranked, agreement_of_seeds, kept_results, rerank, rerank_recipes, rivals_of
from evonorm.workers import WorkerRecipe

console = Console()


def rerank_run(
    name: Name,
    data: Annotated[Path, typer.Option(help="a folder in ImageNet's layout; its val/ is not read")],
    top: Annotated[int, typer.Option(min=1, help="how many of the run's best functions")] = 10,
    keep: Annotated[int, typer.Option(min=1, help="how many of them to recommend")] = 3,
    recipes: Annotated[str, typer.Option(help="the family of recipes: imagenet, or tiny-imagenet for a laptop")] = (
        "imagenet"
    ),
    epochs: Annotated[float | None, typer.Option(help="instead of the recipes'; schedules are scaled with it")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="trainings in each model; two tell if the order is noise")] = 1,
    workers: WorkersOption = "1",
    address: Address = None,
    insecure: Insecure = False,
    changes: Changes = None,
    runs: Runs = Path("runs"),
) -> None:
    """Trains the best functions of a run anew, in ResNet-50, MobileNetV2 and EfficientNet-B0, and ranks them again.

    Trains on 90 % of the folder's training photos and measures on the other 10 %, the same for everybody. The same
    command again goes on where it was stopped; results stay in the run's folder.

    Example: evonorm rerank first --data /data/imagenet --workers 8

    Example: evonorm rerank first --data tiny-imagenet-200 --recipes tiny-imagenet --epochs 4 --seeds 2
    """
    who = chosen_workers(WorkerRecipe(), workers, address, insecure)
    folder = RunFolder(runs, name)
    rivals = rivals_of(folder, top)
    chosen = rerank_recipes(recipes, data, changes or [], epochs)
    kept = kept_results(folder.path / "rerank", lambda line, _: console.print(line, highlight=False, soft_wrap=True))
    steps = seeds * len(rivals.layers) * sum(recipe.training.steps for recipe in chosen.values())
    with training_bars(steps) as bars:
        rows = rerank(rivals, chosen, kept, who, bars.watch, bars.on_found, seeds)
    _print(rows, keep, f"{name}, reranked by {recipes}")


def _print(rows: list[Reranked], keep: int, title: str) -> None:
    """Lines, not a table: formulas may be long."""
    models = list(rows[0].accuracies)
    heads = [*models, "mean", "hours"]
    console.print(
        f"\n{title}; accuracy on held-out training photos, {_trainings(rows)}\n", highlight=False, soft_wrap=True
    )
    console.print(f"{'':4}{'was':>10}{_columns(heads, heads)}   formula, then * gamma + beta", style="bold")
    place = 0
    for row in rows:
        place += row.place is not None
        figures = [
            *(f"{row.accuracies[model]:.4f}" for model in models),
            f"{row.mean:.4f}",
            f"{row.seconds / 3600:.2f}",
        ]
        mine = f"{place if row.place else '':>4}{row.place or 'reference':>10}{_columns(figures, heads)}   {row.layer}"
        style = "bold" if row.place and place <= keep else "dim" if row.place is None else None
        text = mine + "".join(f" ({note})" for note in row.notes)
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
    hours = sum(row.seconds for row in rows) / 3600
    console.print(f"\n{hours:.2f} hours in all. {_how_sure(rows)}", highlight=False, soft_wrap=True)


def _trainings(rows: list[Reranked]) -> str:
    seeds = len(rows[0].by_seed)
    return "one training each" if seeds == 1 else f"means of {seeds} trainings each"


def _how_sure(rows: list[Reranked]) -> str:
    """What tells this order from noise."""
    if len(rows[0].by_seed) == 1:
        return "With one seed nothing tells this order from noise: --seeds 2 trains again under another one."
    found = agreement_of_seeds(rows)
    return f"Rank correlation between seeds over the {found.n} layers: {found}; around 0 the order is noise."


def _columns(words: list[str], heads: list[str]) -> str:
    return "".join(f"{word:>{len(head) + 2 if len(head) > 6 else 8}}" for word, head in zip(words, heads, strict=True))
