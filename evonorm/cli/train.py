"""`evonorm train`: a layer in a task, to the end of a recipe."""

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from evonorm.cli.search import Changes
from evonorm.cli.train_display import shown
from evonorm.runner import Trained, kept_results, load_task_recipe, train
from evonorm.training import rank, torchrun_ranks

console = Console()


def train_layers(
    recipe: Annotated[
        Path,
        typer.Argument(help="a TOML file, or one that ships with evonorm: cifar10/resnet, imagenet/resnet50, ..."),
    ],
    layer: Annotated[list[str], typer.Option(help="a name or a formula; give it again for another one")],
    data: Annotated[
        Path | None, typer.Option(help="the task's data: a folder (ImageNet: train/ and val/), or a data set's name")
    ] = None,
    variant: Annotated[str | None, typer.Option(help="one of the recipe's variants, such as aug+2x+cos")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="how many, from the recipe's seed on")] = 1,
    keep: Annotated[Path, typer.Option(help="a file or folder where results and checkpoints stay")] = Path(
        "runs/train"
    ),
    changes: Changes = None,
) -> None:
    """Trains a model with a layer by a recipe; the same command again goes on where it was stopped.

    The recipe's logical workers decide the figures, the hardware only the time: on several GPUs start it with torchrun
    and a number of processes that divides the workers. A GPU is used where there is one.

    Example: evonorm train cifar10/resnet --layer evonorm-b0 --layer bn-relu

    Example: evonorm train cifar10/resnet --layer "x * sigmoid(x) / rms_whcg(x)" --set training.steps=400

    Example: torchrun --standalone --nproc-per-node=8 -m evonorm train imagenet/resnet50 --variant aug+2x+cos
    --layer evonorm-b0 --data /data/imagenet
    """
    kept = kept_results(keep)
    changed = [*(changes or []), *data_change(data)]
    first = load_task_recipe(recipe, changed, variant)
    found: dict[tuple[str, int], Trained] = {}
    weights: dict[tuple[str, int], Path] = {}
    with torchrun_ranks() as device:
        for seed in range(first.seed, first.seed + seeds):
            mine = load_task_recipe(recipe, [*changed, f"seed={seed}"], variant).in_steps()
            for each in layer:
                with shown(f"{each}, seed {seed}", mine) as on_step:
                    found[each, seed] = train(mine, each, kept, on_step, device)
                weights[each, seed] = kept.weights(mine.question(each))
        if rank() == 0:
            _print(found, f"{recipe}{f' ({variant})' if variant else ''}")
            _say(f"kept in {kept.path}")
            for (each, seed), path in weights.items():
                if path.exists():
                    _say(f"weights of {each}, seed {seed}: {path}")
            _say(f"{shlex.join(['evonorm', 'report', str(keep)])} draws the curves")


def data_change(data: Path | None) -> list[str]:
    """What --data changes in a recipe: a folder is named in full, what is no file stays a name."""
    if data is None:
        return []
    return [f"settings.data={data.absolute() if data.exists() else data}"]


def _say(line: str) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def _print(found: dict[tuple[str, int], Trained], title: str) -> None:
    names = list(dict.fromkeys(name for trained in found.values() for name in trained.measured))
    table = Table("layer", "seed", *names, "steps", "s a step", title=title)
    for (layer, seed), trained in found.items():
        cells = [f"{trained.measured[name][-1][1]:.4f}" if trained.measured.get(name) else "-" for name in names]
        ended = "" if trained.ending == "reached" else f" ({trained.ending.replace('_', ' ')})"
        pace = f"{trained.seconds / max(1, trained.steps):.3f}"
        table.add_row(layer, str(seed), *cells, f"{trained.steps}{ended}", pace)
    console.print(table, markup=False)
