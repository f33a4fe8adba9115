"""Whether two searches are equal, in one line of hex."""

import hashlib
import json
from pathlib import Path
from typing import Any

from evonorm.journal.outcomes import Failed, outcome_to_json
from evonorm.journal.reader import Candidate, Reader


def journal_digest(path: Path) -> str:
    """A hash of every proposal and of every stage of its outcome, without times, machines and worker events.

    Equal digest = equal search. Why an evaluation broke is left out too: that it did is what counts.
    """
    found = hashlib.sha256()
    with Reader(path) as reader:
        reader.check()
        found.update(_line(reader.header().get("identity", {})))
        for candidate in reader.candidates():
            found.update(_line(_comparable(candidate)))
    return found.hexdigest()


def _comparable(candidate: Candidate) -> dict[str, Any]:
    proposal, outcome = candidate.proposal, candidate.outcome
    row = {"index": proposal.index, "graph": proposal.graph.encode(), "origin": proposal.origin, **proposal.body()}
    if isinstance(outcome, Failed):
        return {**row, "outcome": "failed"}
    return {**row, "outcome": outcome and _without_times(outcome_to_json(outcome))}


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(each) for key, each in value.items() if "second" not in key}
    if isinstance(value, list | tuple):
        return [_without_times(each) for each in value]
    return value


def _line(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"
