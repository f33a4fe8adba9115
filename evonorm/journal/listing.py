"""Candidates page by page: all of them, or those of one kind."""

from typing import get_args

from evonorm.journal.reader import Candidate, Reader
from evonorm.journal.words import Kind

LISTED = ("all", *get_args(Kind))

_ALL = "SELECT idx FROM proposals WHERE idx >= ? ORDER BY idx LIMIT ?"
_BY_KIND = {
    "scores": "SELECT idx FROM outcomes WHERE average IS NOT NULL ORDER BY average DESC LIMIT ? OFFSET ?",
    "rejected": "SELECT idx FROM outcomes WHERE kind = 'rejected' ORDER BY kind, test, rung, arrival LIMIT ? OFFSET ?",
    "failed": "SELECT idx FROM outcomes WHERE kind = 'failed' ORDER BY kind, test, rung, arrival LIMIT ? OFFSET ?",
    "pending": """SELECT idx FROM proposals p WHERE NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.idx = p.idx)
        ORDER BY idx DESC LIMIT ? OFFSET ?""",
}


def list_candidates(reader: Reader, kind: str, start: int, number: int) -> list[Candidate]:
    """So many of one of `LISTED`: scores from the best down, others in their order.

    `start` is how many come before; among all of them, the first one's index, since a slim export has gaps.
    """
    rows = reader.ask(_ALL, (start, number)) if kind == "all" else reader.ask(_BY_KIND[kind], (number, start))
    return [reader.candidate(index) for (index,) in rows]
