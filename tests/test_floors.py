"""A file imports only from lower floors, and rooms on one floor never import each other (docs/tour.md)."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "evonorm"
FLOORS = {
    "graph": 0,
    "data": 0,
    "training": 0,
    "workers": 0,
    "kernels": 1,
    "layers": 2,
    "models": 3,
    "journal": 3,
    "search": 4,
    "fitness": 4,
    "experiments": 5,
    "report": 5,
    "cli_bench": 6,
    "cli_search": 6,
    "cli_report": 6,
    "cli_calibrate": 7,
    "cli": 8,
    "__main__": 9,
}
NO_TORCH = {"graph", "journal", "search", "workers"}


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down(path):
    room = room_of(path)
    for module in imported_modules(path):
        parts = module.split(".")
        if room in NO_TORCH:
            assert parts[0] != "torch", f"{room} knows no torch"
        if parts[0] != "evonorm" or len(parts) < 2 or parts[1] == "__version__":
            continue
        assert parts[1] in FLOORS, f"{path} imports {module}: name a room of the package"
        assert parts[1] == room or FLOORS[parts[1]] < FLOORS[room], f"{room} may not import {parts[1]} ({module})"


def test_every_room_is_on_a_floor():
    assert {room_of(path) for path in FILES} <= set(FLOORS)


@pytest.mark.parametrize("room", sorted({path.parent for path in FILES} - {PACKAGE}), ids=lambda path: path.name)
def test_a_room_opens_with_its_map(room):
    assert ast.get_docstring(ast.parse((room / "__init__.py").read_text()))
