"""A recipe's TOML file as a table, with what a command line changes in it."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).parent.parent / "recipes"  # in a checkout a link to the folder beside the package


def find_recipe(path: Path) -> Path:
    """The file itself or, where there is none, the recipe of that name that ships with evonorm, e.g. for `laptop`."""
    if path.is_file():
        return path
    name = path.relative_to("recipes") if path.parts[:1] == ("recipes",) else path
    shipped = SHIPPED / name.with_suffix(".toml")
    if ".." not in path.parts and not path.is_absolute() and shipped.is_file():
        return shipped
    known = ", ".join(sorted(str(each.relative_to(SHIPPED).with_suffix("")) for each in SHIPPED.rglob("*.toml")))
    raise ValueError(f"there is no recipe {path}. Name a TOML file of yours, or one that ships with evonorm: {known}.")


def read_recipe_file(path: Path, changes: Sequence[str] = ()) -> dict[str, Any]:
    """The file's table after `changes` such as "fitness.training.steps=400"; what the keys mean is not checked here."""
    try:
        table = tomllib.loads(find_recipe(path).read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}.") from None
    except RecursionError:
        raise ValueError(f"{path} is not a recipe: its brackets are nested too deeply to be read.") from None
    change_table(table, changes)
    return table


def change_table(table: dict[str, Any], changes: Sequence[str]) -> None:
    """Applies changes such as "fitness.training.steps=400" to a table, in order."""
    for change in changes:
        _change(table, change)


def all_changes(changes: Sequence[str] | None, data: str | None, seed: int | None = None) -> list[str]:
    """What a command line's options change together; those with a name of their own win over `--set`."""
    named = {"fitness.data": data, "seed": seed}
    return [*(changes or []), *(f"{key}={value}" for key, value in named.items() if value is not None)]


def _change(table: dict[str, Any], change: str) -> None:
    key, equals, text = change.partition("=")
    *tables, last = (name.strip() for name in key.split("."))
    if not equals or not all((*tables, last)):
        raise ValueError(f"a change is KEY=VALUE such as fitness.training.steps=400, got {change!r}.")
    for name in tables:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise ValueError(f"{change!r} asks for a table, but the recipe's {name!r} is a value.")  # noqa: TRY004
    table[last] = _value(text.strip())


def _value(text: str) -> Any:
    """As TOML would read it; a word that it cannot read is a string without its quotation marks."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
