"""The command line: one sub-command per thing a person does; wiring only."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from evonorm.cli_search import add_commands
from evonorm.graph import CATALOG
from evonorm.models import LEGEND, draw_positions, model_cost, trace_model

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
def cost(
    model: Annotated[str, typer.Argument(help="A model's name, such as resnet50 or mobilenetv2-cifar.")],
    layer: Annotated[
        list[str] | None, typer.Option(help="A layer's name or a formula; give it again for another row.")
    ] = None,
    image_size: Annotated[int | None, typer.Option(help="Height and width; by default what the model is for.")] = None,
    width: Annotated[float, typer.Option(help="Channel multiplier.")] = 1.0,
    positions: Annotated[bool, typer.Option("--positions", help="Draw where the layers sit instead.")] = False,
) -> None:
    """Counts parameters and multiply-adds of a model, a row for each layer asked for.

    Example: evonorm cost resnet50 --layer bn-relu --layer evonorm-b0
    """
    if positions:
        drawing = draw_positions(trace_model(model, image_size, width=width))
        console.print(f"{drawing}\n\n{LEGEND}", markup=False, highlight=False, soft_wrap=True)
        return
    table = Table(
        "layer", "parameters", "convolutions", "layers", "together", title=f"{model}, multiply-adds per image"
    )
    for each in layer or ["bn-relu"]:
        found = model_cost(model, each, image_size, width=width)
        counts = (found.conv_multiply_adds, found.layer_multiply_adds, found.multiply_adds)
        table.add_row(each, f"{found.parameters:,}", *(f"{count / 1e6:,.1f} M" for count in counts))
    console.print(table, markup=False)


add_commands(app)


def main() -> None:
    """Entry point: mistakes of the user end in one message and exit code 2, never in a traceback."""
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False)
        sys.exit(2)
