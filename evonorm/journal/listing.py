"""Candidates page by page: all of them or those of one kind, in an order of choice, or those that words find."""

from typing import get_args

from evonorm.journal.reader import Candidate, Reader
from evonorm.journal.words import Kind

LISTED = ("all", *get_args(Kind))
SORTED = ("", "index", "average", "steps", "seconds")  # "" is the order of the kind
MOST_WORDS = 6

_ALL = "SELECT idx FROM proposals WHERE idx >= ? ORDER BY idx LIMIT ?"
_BY_KIND = {
    "scores": "SELECT idx FROM outcomes WHERE average IS NOT NULL ORDER BY average DESC LIMIT ? OFFSET ?",
    "rejected": "SELECT idx FROM outcomes WHERE kind = 'rejected' ORDER BY kind, test, rung, arrival LIMIT ? OFFSET ?",
    "failed": "SELECT idx FROM outcomes WHERE kind = 'failed' ORDER BY kind, test, rung, arrival LIMIT ? OFFSET ?",
    "pending": """SELECT idx FROM proposals p WHERE NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.idx = p.idx)
        ORDER BY idx DESC LIMIT ? OFFSET ?""",
}
_CONDITIONS = {
    "all": "1",
    "scores": "o.average IS NOT NULL",
    "rejected": "o.kind = 'rejected'",
    "failed": "o.kind = 'failed'",
    "pending": "o.idx IS NULL",
}
_ORDERS = {"": "p.idx", "index": "p.idx", "average": "o.average", "steps": "o.steps", "seconds": "o.seconds"}
_WORD = "(instr(p.graph, ?) OR p.idx = ? OR instr(p.origin, ?) OR instr(ifnull(o.test, ''), ?))"


def list_candidates(
    reader: Reader, kind: str, start: int, number: int, sort: str = "", down: bool = True, words: str = ""
) -> list[Candidate]:
    """So many of one of `LISTED`: scores from the best down, others in their order, or as `sort` (`SORTED`) says.

    `words` are primitives such as `std_bwh`, tests, origins or numbers, and all of them must be there. `start` is how
    many come before; among all of them and in their order, the first one's index, since a slim export has gaps.
    """
    if not sort and not words.strip():
        rows = reader.ask(_ALL, (start, number)) if kind == "all" else reader.ask(_BY_KIND[kind], (number, start))
    else:
        rows = _found(reader, kind, start, number, sort, down, words.split()[:MOST_WORDS])
    return [reader.candidate(index) for (index,) in rows]


def _found(
    reader: Reader, kind: str, start: int, number: int, sort: str, down: bool, words: list[str]
) -> list[tuple[int]]:
    conditions = " AND ".join([_CONDITIONS[kind], *[_WORD] * len(words)])
    question = (
        f"SELECT p.idx FROM proposals p LEFT JOIN outcomes o USING (idx) WHERE {conditions}"  # noqa: S608 (our words)
        f" ORDER BY {_ORDERS[sort]} {'DESC' if down else 'ASC'} NULLS LAST, p.idx LIMIT ? OFFSET ?"
    )
    values = [value for word in words for value in (word, _number(word), word, word)]
    return reader.ask(question, (*values, number, start))


def _number(word: str) -> int:
    text = word.removeprefix("#")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 15 else -1
