"""The options about who computes, and what they make of a recipe's workers."""

from dataclasses import replace
from typing import Annotated

import typer

from evonorm.workers import WorkerRecipe

WorkersOption = Annotated[
    str | None,
    typer.Option(
        "--workers", help="processes; 0 computes in this one; ray is a cluster, ray:64 at most so many workers of it"
    ),
]
Address = Annotated[
    str | None, typer.Option(help="of the Ray cluster, as HOST:PORT; auto is the one that runs on this machine")
]
Insecure = Annotated[bool, typer.Option("--insecure", help="also a cluster beyond this machine that asks for no token")]


def chosen_workers(
    settings: WorkerRecipe, workers: str | None, address: str | None = None, insecure: bool = False
) -> WorkerRecipe:
    """The recipe's workers as the command line changes them."""
    if workers is not None:
        kind, _, number = workers.partition(":")
        if kind == "ray":
            settings = replace(settings, kind="ray", number=_count(number or "0", workers))
        elif (count := _count(workers, workers)) == 0:
            settings = replace(settings, kind="inline", number=1)
        else:
            settings = replace(settings, kind="processes", number=count)
    if settings.kind != "ray" and (address or insecure):
        raise ValueError("--address and --insecure are for a cluster: add --workers ray.")
    return replace(settings, address=address or settings.address, insecure=settings.insecure or insecure)


def _count(text: str, option: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"--workers must be a number, ray, or ray:NUMBER, got {option!r}.")
    return int(text)
