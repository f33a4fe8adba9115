"""`evonorm plugins`: which packages of other people are there, and what they add."""

from rich.console import Console
from rich.table import Table

from evonorm.foundation import load_plugins


def plugins() -> None:
    """Lists every installed plug-in: its package, what it registered, and why it is skipped if it is broken.

    Example: evonorm plugins
    """
    found = load_plugins()
    console = Console()
    if not found:
        console.print("no package with an entry point in evonorm.plugins is installed", highlight=False)
        return
    table = Table("package", "version", "plug-in", "what it adds")
    for each in found:
        adds = "\n".join(each.registered) if each.problem is None else f"broken, skipped: {each.problem}"
        table.add_row(each.package, each.version, each.name, adds or "nothing")
    console.print(table, markup=False)
