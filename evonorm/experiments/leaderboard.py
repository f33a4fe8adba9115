"""The best candidates of a run beside its references, read from the journal."""

from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from evonorm.graph import canonical_key
from evonorm.journal import Candidate, Reader, Rejected, Scores

SLICE = 50


@dataclass(frozen=True)
class Row:
    """A candidate and how many others of the same canonical form scored below it."""

    candidate: Candidate
    copies: int = 0


def leaderboard(reader: Reader, length: int) -> list[Row]:
    """The best average accuracies, each function once as far as its canonical form tells."""
    best: dict[str, Row] = {}
    offset = 0
    while found := reader.best(SLICE, offset):
        for candidate in found:
            key = canonical_key(candidate.proposal.graph)
            if key in best:
                best[key] = Row(best[key].candidate, best[key].copies + 1)
            elif len(best) == length:
                return list(best.values())
            else:
                best[key] = Row(candidate)
        offset += SLICE
    return list(best.values())


def leaderboard_table(rows: list[Row], references: list[Candidate]) -> Table:
    """Candidates first, then the references; accuracies in %."""
    anchors = _anchors([row.candidate for row in rows] + references)
    table = Table("", "candidate", "%", *map(_short, anchors), box=SIMPLE)
    table.add_column("formula, then * gamma + beta", overflow="fold", min_width=30)
    for rank, row in enumerate(rows, start=1):
        proposal = row.candidate.proposal
        again = f"   ({row.copies + 1} times)" if row.copies else ""
        table.add_row(str(rank), str(proposal.index), *_figures(row.candidate, anchors), f"{proposal.graph}{again}")
    for reference in references:
        proposal = reference.proposal
        table.add_row("", proposal.name, *_figures(reference, anchors), str(proposal.graph), style="dim")
    return table


def candidate_json(candidate: Candidate) -> dict[str, Any]:
    """For `evonorm top --json`."""
    proposal, outcome = candidate.proposal, candidate.outcome
    return {
        "candidate": proposal.index,
        "name": proposal.name,
        "formula": str(proposal.graph),
        "graph": proposal.graph.encode(),
        "average": outcome.average if isinstance(outcome, Scores) else None,
        "accuracies": outcome.accuracies if isinstance(outcome, Scores) else None,
        "steps": candidate.steps,
        "seconds": round(candidate.seconds, 3),
    }


def _anchors(candidates: list[Candidate]) -> list[str]:
    scored = [each.outcome for each in candidates if isinstance(each.outcome, Scores)]
    return sorted({anchor for outcome in scored for anchor in outcome.accuracies})


def _short(anchor: str) -> str:
    return anchor.removesuffix("-nano").removesuffix("-cifar")


def _figures(candidate: Candidate, anchors: list[str]) -> list[str]:
    outcome = candidate.outcome
    if isinstance(outcome, Scores):
        return [f"{100 * each:.2f}" for each in (outcome.average, *(outcome.accuracies[anchor] for anchor in anchors))]
    if isinstance(outcome, Rejected):
        return [f"rejected: {outcome.test}", *("" for _ in anchors)]
    return ["…" if outcome is None else "failed", *("" for _ in anchors)]
