"""Where a candidate comes from and what came of it: ancestors and children, each one question to the journal."""

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass

from evonorm.graph import Graph, simplify
from evonorm.journal.reader import Reader
from evonorm.journal.schema import PARENT
from evonorm.journal.words import CandidateVerdict, Kind

LONGEST_ANCESTRY = 12
MOST_CHILDREN = 50

_RELATIVE = "p.idx, p.origin, p.graph, o.kind, o.test, o.rung, o.average"
_ANCESTORS = f"""WITH RECURSIVE line(depth, idx) AS (
        SELECT 0, ? UNION ALL
        SELECT depth + 1, {PARENT} FROM line JOIN proposals USING (idx) WHERE depth < ? AND {PARENT} IS NOT NULL)
    SELECT {_RELATIVE} FROM line JOIN proposals p USING (idx) LEFT JOIN outcomes o USING (idx)
    WHERE depth > 0 ORDER BY depth"""  # noqa: S608 (our own words)
_FOUNDERS = f"""WITH RECURSIVE line(descendant, idx) AS (
        SELECT value, value FROM json_each(?) UNION ALL
        SELECT descendant, {PARENT} FROM line JOIN proposals USING (idx) WHERE {PARENT} IS NOT NULL)
    SELECT descendant, min(idx) FROM line GROUP BY descendant"""  # noqa: S608 (our own words)
_KIN = f"""WITH RECURSIVE line(idx) AS (
        SELECT value FROM json_each(?) UNION
        SELECT {PARENT} FROM line JOIN proposals USING (idx) WHERE {PARENT} IS NOT NULL)
    SELECT {_RELATIVE}, {PARENT.replace("body", "p.body")} FROM line JOIN proposals p USING (idx)
    LEFT JOIN outcomes o USING (idx) ORDER BY p.idx"""  # noqa: S608 (our own words)
_OF_PARENT = f"FROM proposals WHERE {PARENT} = ?"
_CHILDREN = f"""SELECT {_RELATIVE} FROM (SELECT idx, origin, graph {_OF_PARENT}) p LEFT JOIN outcomes o USING (idx)
    ORDER BY o.average DESC, p.idx LIMIT ?"""  # noqa: S608 (our own words)


@dataclass(frozen=True)
class Relative:
    """A candidate as a line in a list of relatives."""

    index: int
    origin: str
    formula: str
    verdict: CandidateVerdict
    average: float | None

    @property
    def verdict_words(self) -> str:
        if self.verdict.kind == "rejected":
            return f"rejected by {self.verdict.label!r}"
        return {"scores": "scored", "failed": "failed", "pending": "in work"}[self.verdict.kind]


def ancestry(reader: Reader, index: int, most: int = LONGEST_ANCESTRY) -> list[Relative]:
    """Parent, grandparent and so on, youngest first."""
    return [_relative(*row) for row in reader.ask(_ANCESTORS, (index, most))]


def founders(reader: Reader, indices: Sequence[int]) -> dict[int, int]:
    """The first ancestor of each of these candidates, who came from nobody."""
    return dict(reader.ask(_FOUNDERS, (json.dumps(list(indices)),)))


def kin(reader: Reader, indices: Sequence[int]) -> list[tuple[Relative, int | None]]:
    """These candidates and all of their ancestors in the order of proposals, each with its parent's number."""
    rows = reader.ask(_KIN, (json.dumps(list(indices)),))
    return [(_relative(*row[:-1]), row[-1]) for row in rows]


def children(reader: Reader, index: int) -> list[Relative]:
    """The candidates that were made from this one: the best first, then those without scores."""
    return [_relative(*row) for row in reader.ask(_CHILDREN, (index, MOST_CHILDREN))]


def count_children(reader: Reader, index: int) -> int:
    return int(reader.ask(f"SELECT count(*) {_OF_PARENT}", (index,))[0][0])


def readable(graph: Graph) -> str:
    """The formula, or the storage form of a graph whose formula would be too long."""
    try:
        return str(graph)
    except ValueError:
        return graph.encode()


@functools.lru_cache(10_000)  # a live page asks for the same ones again and again
def plain_formula(graph: Graph) -> str:
    """The formula for people: simplified where that makes it shorter. What runs is always the graph itself."""
    try:
        return min(str(graph), str(simplify(graph)), key=len)
    except ValueError:
        return readable(graph)


@functools.lru_cache(2000)  # a live page meets the same ancestors again and again
def _formula_of(text: str) -> str:
    return plain_formula(Graph.decode(text))


def _relative(
    index: int, origin: str, graph: str, kind: Kind | None, test: str | None, rung: int | None, average: float | None
) -> Relative:
    return Relative(index, origin, _formula_of(graph), CandidateVerdict(kind or "pending", test, rung), average)
