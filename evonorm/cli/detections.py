"""`evonorm show-detections`: pictures with what a detector finds in them."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evonorm.cli.search import Changes
from evonorm.cli.train import data_change
from evonorm.runner import kept_results, load_task_recipe, stored_training
from evonorm.tasks import CocoTask, write_drawings

console = Console()


def show_detections(
    recipe: Annotated[Path, typer.Argument(help="of the training: a TOML file, or coco/r50-fpn and its like")],
    out: Annotated[Path, typer.Argument(help="a folder for the PNG files")],
    layer: Annotated[str, typer.Option(help="of the training: a name or a formula")],
    data: Annotated[Path | None, typer.Option(help="the COCO folder")] = None,
    pictures: Annotated[int, typer.Option(min=1, help="how many, of those that the recipe measures on")] = 8,
    least_score: Annotated[float, typer.Option(min=0, max=1, help="of an object that is drawn")] = 0.5,
    keep: Annotated[Path, typer.Option(help="where the training keeps its weights")] = Path("runs/train"),
    changes: Changes = None,
) -> None:
    """Draws boxes, masks and class names that a detector finds, with the weights of a training.

    The training may still go on: then those of its latest checkpoint. `evonorm report` shows some of every measurement.

    Example: evonorm show-detections coco/tiny seen --layer evonorm-s0 --data COCO
    """
    changed = [*(changes or []), *data_change(data)]
    run = stored_training(load_task_recipe(recipe, changed), layer, kept_results(keep))
    task = run.task
    if not isinstance(task, CocoTask):
        raise ValueError(f"{recipe} trains no detector.")  # noqa: TRY004 (the recipe is wrong, not a type)
    split = task.settings.measured_split
    found = list(task.find(split.pictures[:pictures], run.step))
    for path in write_drawings(found, split.categories, out, least_score):
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"{layer} after {run.step} steps", highlight=False, markup=False)
