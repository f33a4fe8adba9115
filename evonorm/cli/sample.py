"""`evonorm sample`: pictures of a trained generator."""

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evonorm.foundation import write_atomically
from evonorm.tasks import sample_sheet

console = Console()


def sample(
    generator: Annotated[Path, typer.Argument(help="the .pt file that a training of the task gan has kept")],
    out: Annotated[Path, typer.Argument(help="the PNG file to write")],
    truncation: Annotated[
        float, typer.Option(help="z within plus and minus this: less is cleaner and less varied")
    ] = math.inf,
    columns: Annotated[int, typer.Option(min=1, help="pictures of each class")] = 8,
    classes: Annotated[int, typer.Option(min=1, help="rows: so many of the first classes")] = 10,
    seed: Annotated[int, typer.Option(help="of the latent vectors")] = 0,
) -> None:
    """Writes a sheet of a generator's pictures, a row for each class, the same latent vectors in all rows.

    Example: evonorm sample runs/gan/biggan-deep-cifar-evonorm-s0-seed0.pt samples.png --truncation 0.5
    """
    write_atomically(out, sample_sheet(generator, truncation, columns, classes, seed))
    console.print(str(out), highlight=False, soft_wrap=True)
