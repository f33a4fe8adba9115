"""What a journal's tables look like, word by word, in every version. A file with anything else is not read any further.

A view, a trigger or an expression in a file that somebody hands over would be SQL of theirs inside our questions. To
compare the words is stricter than SQLite's own `trusted_schema=OFF`, which cannot be had: version 3.40 counts
json_extract, which one of our indices needs, among the functions that it forbids.
"""

import sqlite3

_HEADER = "CREATE TABLE header (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_PROPOSALS = """CREATE TABLE proposals ( idx INTEGER PRIMARY KEY, graph TEXT NOT NULL, origin TEXT NOT NULL,
    free INTEGER NOT NULL, body TEXT NOT NULL, time REAL NOT NULL{added} )"""
_OUTCOMES = """CREATE TABLE outcomes ( arrival INTEGER PRIMARY KEY, idx INTEGER NOT NULL UNIQUE REFERENCES
    proposals(idx), kind TEXT NOT NULL, test TEXT,{rung} average REAL, steps INTEGER NOT NULL, seconds REAL NOT NULL,
    body TEXT NOT NULL, time REAL NOT NULL{added} )"""
_EVENTS = (
    "CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, time REAL NOT NULL{added})"
)
_PARENT = "json_extract(body, '$.parents[0]')"
_INDICES = (
    "CREATE INDEX outcomes_by_average ON outcomes(average) WHERE average IS NOT NULL",
    "CREATE INDEX events_by_kind ON events(kind)",
    f"CREATE INDEX proposals_by_parent ON proposals({_PARENT}) WHERE {_PARENT} IS NOT NULL",
)
_BY_VERDICT = "CREATE INDEX outcomes_by_verdict ON outcomes(kind, test{rung})"
_TEXT, _REAL, _WHOLE = "'text'", "'real'", "'integer'"
_KINDS = {
    "proposals": ("idx", {"graph": _TEXT, "origin": _TEXT, "free": _WHOLE, "body": _TEXT, "time": _REAL}),
    "outcomes": (
        "arrival",
        {"kind": _TEXT, "test": f"{_TEXT}, 'null'", "average": f"{_REAL}, 'null'", "steps": _WHOLE}
        | {"seconds": _REAL, "body": _TEXT, "time": _REAL},
    ),
    "events": ("id", {"kind": _TEXT, "body": _TEXT, "time": _REAL}),
}
_OPTIONAL = "proposals_by_parent"  # journals that were begun long ago have it only once a search has gone on with them


def strange_schema(connection: sqlite3.Connection, version: int) -> str | None:
    """What the file has that no journal of this version has, or what it lacks; None where it is as it should be."""
    found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    known = _known(version)
    if strange := [name for name, sql in found if _without_spaces(sql) not in known]:
        return f"something called {strange[0]!r} in it that journals of schema {version} do not have"
    there = {name for name, _ in found}
    missing = {name for name in known.values() if name not in there and name != _OPTIONAL}
    return f"no {' and no '.join(sorted(missing))}" if missing else None


def strange_row(connection: sqlite3.Connection) -> str | None:
    """A row with a value of another kind than its column's, or whose body is no JSON object; seals do not tell that."""
    for table, (key, kinds) in _KINDS.items():
        wrong = " OR ".join(f"typeof({column}) NOT IN ({kind})" for column, kind in kinds.items())
        body = "OR NOT json_valid(body) OR json_type(body) != 'object'"
        row = connection.execute(f"SELECT {key} FROM main.{table} WHERE {wrong} {body} LIMIT 1").fetchone()  # noqa: S608
        if row is not None:
            return f"{table}, row {row[0]}: not what an evonorm writes"
    return None


def _known(version: int) -> dict[str, str]:
    """Statements and the names that they make; a column that an upgrade has added stands at the end."""
    seal = ", seal BLOB" if version >= 3 else ""
    outcomes = [_OUTCOMES.format(rung="", added=(", rung INTEGER" if version >= 2 else "") + seal)]
    if version >= 2:
        outcomes.append(_OUTCOMES.format(rung=" rung INTEGER,", added=seal))
    by_verdict = _BY_VERDICT.format(rung=", rung" if version >= 2 else "")
    tables = [_HEADER, _PROPOSALS.format(added=seal), _EVENTS.format(added=seal), *outcomes]
    return {_without_spaces(each): each.split()[2] for each in (*tables, by_verdict, *_INDICES)}


def _without_spaces(sql: object) -> str:
    return "".join(str(sql).split())
