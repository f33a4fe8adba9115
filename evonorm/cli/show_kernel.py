"""The sub-command `show-kernel`. Wiring only."""

from typing import Annotated

import typer

from evonorm.graph import graph_of
from evonorm.kernels import triton_text


def show_kernel(
    layer: Annotated[str, typer.Argument(help="a name or a formula")],
    evaluation: Annotated[bool, typer.Option("--eval", help="with moving moments instead of the batch's")] = False,
    eps: Annotated[float, typer.Option(help="inside the roots of moments")] = 1e-5,
) -> None:
    """Prints the Triton kernels of a layer, forward and backward, as they run on a GPU. Needs neither GPU nor Triton.

    Example: evonorm show-kernel evonorm-b0

    Example: evonorm show-kernel "x * sigmoid(x) / rms_whcg(x)" --eval
    """
    typer.echo(triton_text(graph_of(layer), eps, training=not evaluation), nl=False)
