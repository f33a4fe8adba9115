"""The best candidates of a run beside its references, read from the journal."""

from dataclasses import dataclass
from typing import Any

from rich.text import Text

from evonorm.graph import canonical_key
from evonorm.journal import Candidate, Reader, Rejected, Scores

SLICE = 50


@dataclass(frozen=True)
class Row:
    """A candidate and how many others of the same function scored below it."""

    candidate: Candidate
    copies: int = 0


def leaderboard(reader: Reader, length: int) -> list[Row]:
    """The best average accuracies, each function once as far as its fingerprint or canonical form tells."""
    best: dict[str, Row] = {}
    offset = 0
    while found := reader.best(SLICE, offset):
        for candidate in found:
            key = candidate.proposal.function or canonical_key(candidate.proposal.graph)
            if key in best:
                best[key] = Row(best[key].candidate, best[key].copies + 1)
            elif len(best) == length:
                return list(best.values())
            else:
                best[key] = Row(candidate)
        offset += SLICE
    return list(best.values())


def leaderboard_text(rows: list[Row], references: list[Candidate]) -> Text:
    """Candidates first, then the references; accuracies in %. Lines, not a table: formulas may be long."""
    anchors = _anchors([row.candidate for row in rows] + references)
    heads = ["mean", *(anchor.removesuffix("-nano").removesuffix("-cifar") for anchor in anchors)]
    widths = [max(7, len(head) + 2) for head in heads]
    text = Text(f"{'':4}{'candidate':>12}{_columns(heads, widths)}   formula, then * gamma + beta\n", style="bold")
    for rank, row in enumerate(rows, start=1):
        again = f"   ({row.copies + 1} times)" if row.copies else ""
        figures = _columns(_figures(row.candidate, anchors), widths)
        proposal = row.candidate.proposal
        text.append(f"{rank:4}{proposal.index:12}{figures}   {proposal.graph}{again}\n", style="not bold")
    for reference in references:
        figures = _columns(_figures(reference, anchors), widths)
        text.append(
            f"{'':4}{reference.proposal.name:>12}{figures}   {reference.proposal.graph}\n", style="not bold dim"
        )
    return text


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


def _columns(words: list[str], widths: list[int]) -> str:
    if len(words) == 1:
        return f"{words[0]:>{sum(widths)}}"
    return "".join(f"{word:>{width}}" for word, width in zip(words, widths, strict=True))


def _figures(candidate: Candidate, anchors: list[str]) -> list[str]:
    """Mean and anchors of a scored candidate; else one word for what came of it."""
    outcome = candidate.outcome
    if isinstance(outcome, Scores):
        return [f"{100 * each:.2f}" for each in (outcome.average, *(outcome.accuracies[anchor] for anchor in anchors))]
    if isinstance(outcome, Rejected):
        return [f"rejected by {outcome.test}"]
    return ["in work" if outcome is None else "failed"]
