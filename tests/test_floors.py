"""The plan of the house, as docs/tour.md tells it, is what the imports say."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "evonorm"
ROOMS = re.findall(r"^\| (\d+) \| `(\w+)` \| (.*) \|$", (ROOT / "docs" / "tour.md").read_text(), re.MULTILINE)
FLOORS = {room: int(floor) for floor, room, _ in ROOMS}
NO_TORCH = {"foundation", "graph", "pictures", "journal", "search", "workers"}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


def room_of(path):
    return path.relative_to(PACKAGE).parts[0]


def imports(path):
    """Every module that a file imports from, wherever in the file, with the names that it takes."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module, tuple(alias.name for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_and_through_the_door(path):
    room = room_of(path)
    for module, names in imports(path):
        top, *inside = module.split(".")
        if room in NO_TORCH:
            assert top != "torch", f"{room} knows no torch"
        assert top not in ("studies", "tests", "benchmarks"), (
            f"{path} imports {module}: the package knows none of these"
        )
        if top != "evonorm" or not inside:
            assert top != "evonorm" or set(names) <= {"__version__"}, f"{path}: import from a room, not from evonorm"
            continue
        assert inside[0] in FLOORS, f"{path} imports {module}: name a room of the package"
        if inside[0] != room:
            assert FLOORS[inside[0]] < FLOORS[room], f"{room} may not import {inside[0]} ({module})"
            assert len(inside) == 1, f"{path} imports {module}: what {inside[0]} offers stands at its door"


def test_every_room_is_in_the_table_and_every_row_is_a_room():
    assert {room_of(path) for path in FILES} == set(FLOORS)


def test_the_readme_has_the_same_table():
    readme = (ROOT / "README.md").read_text()
    for _, room, what in ROOMS:
        assert f"| `evonorm/{room}/` | {what} |" in readme


@pytest.mark.parametrize("room", sorted({path.parent for path in FILES}), ids=lambda path: path.name)
def test_a_room_opens_with_its_map(room):
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text()))
    assert text
    files = {path.name for path in room.glob("*.py")} - {"__init__.py"}
    assert {name for name in files if f"`{name}`" not in text} == set(), f"{room.name}: the map leaves files out"
    assert set(re.findall(r"`(\w+\.py)`", text)) <= files, f"{room.name}: the map names files that are not there"


LIGHT = {"evonorm": {"foundation", "graph"}, "evonorm.graph": {"foundation", "graph"}}
LIGHT["evonorm; evonorm.create_layer"] = {"foundation", "graph", "kernels", "layers"}


@pytest.mark.parametrize("what", LIGHT)
def test_an_import_loads_no_more_than_it_needs(what):
    """The language alone needs no torch; a layer needs no model, no report, no server and no plotting."""
    code = f"import sys, {what}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = done.stdout.split()
    assert {name.split(".")[1] for name in loaded if name.startswith("evonorm.")} == LIGHT[what]
    assert ("torch" in loaded) == ("layers" in LIGHT[what])
    assert not {"rich", "typer", "starlette", "sqlite3", "torchvision", "sklearn", "triton"} & set(loaded)
