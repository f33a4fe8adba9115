"""The sub-command `layers`. Wiring only."""

from rich.console import Console
from rich.table import Table

from evonorm.graph import CATALOG

console = Console()


def layers() -> None:
    """Lists every named layer with its formula.

    Example: evonorm layers
    """
    table = Table("name", "formula (then * gamma + beta)", "where in the paper")
    for entry in CATALOG.values():
        formula = entry.formula or "(not in the formula language)"
        table.add_row(entry.name, formula + (" [affine inside]" if entry.affine_inside else ""), entry.source)
    console.print(table, markup=False)
