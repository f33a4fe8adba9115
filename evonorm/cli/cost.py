"""The sub-command `cost`. Wiring only."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from evonorm.models import LEGEND, draw_positions, model_cost, trace_model

console = Console()


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
