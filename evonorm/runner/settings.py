"""Frozen dataclasses from TOML tables: a misspelt key or an impossible value fails and says what is valid."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from evonorm.foundation import did_you_mean

Settings = TypeVar("Settings")


def read_settings(kind: type[Settings], table: Mapping[str, Any], where: str) -> Settings:
    """A `kind` whose fields come from the table, defaults from the class; nested dataclasses read nested tables.

    `where` names the place for errors, e.g. "recipes/laptop.toml [search]".
    """
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(typing.cast(Any, kind))]
    for key in table:
        if key not in names:
            raise ValueError(f"{where}: unknown key {key!r}.{did_you_mean(key, names)} Valid keys: {', '.join(names)}.")
    missing = [field.name for field in dataclasses.fields(typing.cast(Any, kind)) if _needed(field)]
    if missing := [name for name in missing if name not in table]:
        raise ValueError(f"{where}: the key {missing[0]!r} is missing. Valid keys: {', '.join(names)}.")
    values = {key: _convert(hints[key], value, f"{where}: {key}") for key, value in table.items()}
    try:
        return kind(**values)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def settings_to_table(settings: Any) -> dict[str, Any]:
    """The inverse: a plain JSON-able dict with every value, for the journal's header."""
    return dataclasses.asdict(settings)


def changed_settings(settings: Any) -> dict[str, Any]:
    """Only what is not at its default, for the key of a kept result.

    So a setting that is new, with a default that does what was done before, leaves every kept result as it is. Whoever
    changes a default changes what old keys mean: `tests/runner/test_settings.py` says so.
    """
    fields = [(field, getattr(settings, field.name)) for field in dataclasses.fields(settings)]
    return {field.name: _plain(value) for field, value in fields if value != _default(field)}


def _needed(field: dataclasses.Field[Any]) -> bool:
    return field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return changed_settings(value)
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _convert(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _convert(next(a for a in arguments if a is not type(None)), value, where)
    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return read_settings(typing.cast(type, hint), value, where)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_convert(arguments[0], each, f"{where}[{i}]") for i, each in enumerate(value))
    if origin is dict and isinstance(value, Mapping):
        return {str(key): _convert(arguments[1], each, f"{where}.{key}") for key, each in value.items()}
    if origin is typing.Literal:
        if value not in arguments:
            raise ValueError(f"{where} must be one of {', '.join(map(repr, arguments))}, got {value!r}.")
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(hint, type) or not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ValueError(f"{where} must be of type {getattr(hint, '__name__', hint)}, got {value!r}.")
    return value
