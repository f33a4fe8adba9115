"""The sub-command `data`. Wiring only."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evonorm.cli.work_bars import work_bars
from evonorm.data import cifar10_path, get_cifar10, load_data
from evonorm.tasks import FID_2015, SLIM, get_weights

console = Console()


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
