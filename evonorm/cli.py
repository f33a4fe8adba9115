"""The command line: one sub-command per thing a person does; wiring only."""

import sys

import typer
from rich.console import Console
from rich.table import Table

from evonorm.graph import CATALOG

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


def main() -> None:
    """Entry point: mistakes of the user end in one message and exit code 2, never in a traceback."""
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False)
        sys.exit(2)
