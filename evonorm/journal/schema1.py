"""Journals of the first schema: their words in those of this one, for reading as they are and for going on.

A reader sees such a file through views that translate, so that nothing is written; whoever writes translates the file
first, in one transaction. What changed: a rung is a number beside its test's name, a failure has its reason in a field
of its own, one rejection had two names, a module has moved, and settings are gone whose ideas lost.
"""

import json
import sqlite3
from typing import Any, get_args

from evonorm.journal.words import Test
from evonorm.workers import Reason

_RUNG = "rung "
_MOVED = "evonorm.experiments.evaluation_task:"
_GONE: dict[str, Any] = {"generator": "paper", "start": "random", "start_size": 2}  # settings of a search ...
_GONE_FROM_RUNGS: dict[str, Any] = {"hurdle": 0.0, "give_up": False}  # ... and of a rung, with what they meant: nothing

_VIEWS = """
    CREATE TEMP VIEW header AS SELECT key, new_header(key, value) AS value FROM main.header;
    CREATE TEMP VIEW outcomes AS SELECT arrival, idx, kind, new_test(test) AS test, rung_of(test) AS rung, average,
        steps, seconds, new_outcome(kind, body) AS body, time FROM main.outcomes;"""
_UPGRADE = """
    BEGIN IMMEDIATE;
    ALTER TABLE outcomes ADD COLUMN rung INTEGER;
    UPDATE header SET value = new_header(key, value);
    UPDATE outcomes SET rung = rung_of(test), test = new_test(test), body = new_outcome(kind, body);
    DROP INDEX outcomes_by_verdict;
    CREATE INDEX outcomes_by_verdict ON outcomes(kind, test, rung);
    PRAGMA user_version = 2;
    COMMIT;"""


def read_through_views(connection: sqlite3.Connection) -> None:
    """Makes a connection that only reads see the second schema."""
    _add_functions(connection)
    connection.executescript(_VIEWS)


def upgrade(connection: sqlite3.Connection) -> None:
    """Turns the file into one of the second schema, whole or not at all."""
    _add_functions(connection)
    connection.executescript(_UPGRADE)


def _add_functions(connection: sqlite3.Connection) -> None:
    for function in (new_test, rung_of, new_outcome, new_header):
        number = function.__code__.co_argcount
        connection.create_function(function.__name__, number, function, deterministic=True)


def new_test(test: str | None) -> str | None:
    """The name of a test or stage; `rung 2: behind`, a run that was given up half-way, is a rejection by rung 2."""
    if test == "reads_x":
        return Test.READS_X.value
    return test if rung_of(test) is None else Test.RUNG.value


def rung_of(test: str | None) -> int | None:
    number = (test or "").removeprefix(_RUNG).partition(":")[0]
    return int(number) if (test or "").startswith(_RUNG) and number.isdecimal() else None


def new_outcome(kind: str, text: str) -> str:
    """The body of an outcome."""
    body = json.loads(text)
    body["stages"] = [_with_rung(stage, "name") for stage in body["stages"]]
    if kind == "rejected":
        body = _with_rung(body, "test")
    if kind == "failed" and "reason" not in body:
        reason, colon, error = body["error"].partition(": ")
        known = bool(colon) and reason in get_args(Reason)
        body |= {"reason": reason, "error": error} if known else {"reason": "error"}
    return json.dumps(body, separators=(",", ":"), sort_keys=True)


def _with_rung(table: dict[str, Any], key: str) -> dict[str, Any]:
    rung = rung_of(table[key])
    return {**table, key: new_test(table[key]), **({} if rung is None else {"rung": rung})}


def new_header(key: str, text: str) -> str:
    """A value of the header: of the recipe, settings that are gone are dropped where they had no effect."""
    value = json.loads(text)
    if key not in ("recipe", "identity") or not isinstance(value, dict):
        return text
    if str(value.get("evaluate", "")).startswith(_MOVED):
        value["evaluate"] = value["evaluate"].replace(".experiments.", ".runner.")
    for table, gone in _tables_with_gone(value):
        for name, without_effect in gone.items():
            if table.get(name) == without_effect:
                del table[name]
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def gone_settings(recipe: dict[str, Any]) -> list[str]:
    """The settings of a stored recipe that this version lacks and that had an effect, as `name = value`."""
    found = (
        f"{name} = {json.dumps(table[name])}"
        for table, gone in _tables_with_gone(recipe)
        for name, without_effect in gone.items()
        if name in table and table[name] != without_effect
    )
    return list(dict.fromkeys(found))


def _tables_with_gone(recipe: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    fitness = recipe.get("fitness")
    rungs = fitness.get("ladder", ()) if isinstance(fitness, dict) else ()
    search = recipe.get("search")
    tables = [(search, _GONE), *((rung, _GONE_FROM_RUNGS) for rung in rungs)]
    return [(table, gone) for table, gone in tables if isinstance(table, dict)]
