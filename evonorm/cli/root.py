"""The command line: one sub-command per thing a person does, each loaded when it is asked for.

Importing torch takes seconds, so `evonorm --help` takes the first lines of the commands' docstrings from their source.
"""

import ast
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from evonorm import __version__
from evonorm.foundation import harmless

# Every command, in the order in which people need them: its file in this folder and its function there.
COMMANDS = {
    "doctor": "doctor:doctor",
    "layers": "layers:layers",
    "draw": "report:draw",
    "cost": "cost:cost",
    "bench": "bench:bench",
    "show-kernel": "show_kernel:show_kernel",
    "data": "data:data",
    "evaluate": "evaluate:evaluate",
    "search": "search:search",
    "resume": "search:resume",
    "retry": "search:retry",
    "status": "search:status",
    "top": "search:top",
    "show": "search:show",
    "judge": "judge:judge",
    "export": "export:export",
    "report": "report:report",
    "dashboard": "report:dashboard",
    "journal": "search:journal_app",
    "train": "train:train_layers",
    "rerank": "rerank:rerank_run",
    "sample": "sample:sample",
    "show-detections": "detections:show_detections",
    "calibrate": "calibrate:calibrate",
    "plugins": "plugins:plugins",
}
console = Console()


class Commands(TyperGroup):
    """A group whose commands are loaded one by one; for a list of all of them their first lines will do."""

    only_first_lines = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (typer's signature)
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=_first_line(cmd_name)) if self.only_first_lines else _loaded(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.only_first_lines = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self.only_first_lines = False


@cache
def _loaded(name: str) -> Any:
    file, _, function = COMMANDS[name].partition(":")
    found = getattr(import_module(f"evonorm.cli.{file}"), function)
    app = found if isinstance(found, typer.Typer) else typer.Typer(add_completion=False)
    if app is not found:
        app.command(name)(found)
    command = get_command(app)
    command.name = name
    return command


def _first_line(name: str) -> str:
    """What the command's docstring, or a group's `help=`, begins with, read without importing anything."""
    file, _, function = COMMANDS[name].partition(":")
    for node in ast.parse(Path(__file__).with_name(f"{file}.py").read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return (ast.get_docstring(node) or "").partition("\n\n")[0]
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == function
            and isinstance(node.value, ast.Call)
        ):
            words = {each.arg: each.value for each in node.value.keywords}
            return str(ast.literal_eval(words["help"]))
    raise AssertionError(f"{file}.py has no {function}")


app = typer.Typer(
    cls=Commands,
    help="Search, train and ship normalization-activation layers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        console.print(f"evonorm {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="The version, and nothing else.")
    ] = False,
) -> None:
    """Search, train and ship normalization-activation layers."""


def run() -> None:
    """Mistakes of the user end in one message and exit code 2, never in a traceback."""
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        words = harmless(_os_words(error) if isinstance(error, OSError) else str(error))
        Console(stderr=True).print(f"error: {words}", style="red", markup=False, highlight=False)
        sys.exit(2)


def _os_words(error: OSError) -> str:
    """What the operating system says, about which file, and what to do where that is clear."""
    if error.filename is None or error.strerror is None:
        return str(error)
    cures = {
        FileExistsError: " Choose another name.",
        FileNotFoundError: " Check the name, or make the folder first.",
        PermissionError: " Choose a place where you may write.",
        IsADirectoryError: " Name a file.",
    }
    cure = next((words for kind, words in cures.items() if isinstance(error, kind)), "")
    return f"{error.filename}: {error.strerror}.{cure}"
