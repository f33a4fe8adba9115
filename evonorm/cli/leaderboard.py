"""The best functions of a run beside its references, in words."""

from typing import Any

from rich.text import Text

from evonorm.journal import Candidate, Ranked, Rejected, Scores, readable


def leaderboard_text(rows: list[Ranked], references: list[Candidate]) -> Text:
    """Functions first, then the references; accuracies in %. Lines, not a table: formulas may be long."""
    anchors = _anchors([row.candidate for row in rows] + references)
    heads = ["mean", *(anchor.removesuffix("-nano").removesuffix("-cifar") for anchor in anchors)]
    widths = [max(7, len(head) + 2) for head in heads]
    head = f"{'':4}{'candidate':>12}{'n':>4}{_columns(heads, widths)}   formula, then * gamma + beta\n"
    text = Text(head, style="bold")
    for rank, row in enumerate(rows, start=1):
        figures = _columns(_percents(row.average, row.accuracies, anchors), widths)
        proposal = row.candidate.proposal
        rejected = f"   ({row.rejected_runs} of {row.runs} runs rejected)" if row.rejected_runs else ""
        text.append(
            f"{rank:4}{proposal.index:12}{row.runs:4}{figures}   {readable(proposal.graph)}{rejected}\n",
            style="not bold",
        )
    for reference in references:
        figures = _columns(_figures(reference, anchors), widths)
        runs = 0 if reference.outcome is None else 1
        text.append(
            f"{'':4}{reference.proposal.name:>12}{runs:4}{figures}   {reference.proposal.graph}\n", style="not bold dim"
        )
    return text


def row_json(row: Ranked) -> dict[str, Any]:
    """For `evonorm top --json`: the candidate of the best run with the function's averages."""
    means = {"average": row.average, "accuracies": row.accuracies}
    return {**candidate_json(row.candidate), **means, "runs": row.runs, "rejected_runs": row.rejected_runs}


def candidate_json(candidate: Candidate) -> dict[str, Any]:
    """One candidate's own run."""
    proposal, outcome = candidate.proposal, candidate.outcome
    return {
        "candidate": proposal.index,
        "name": proposal.name,
        "formula": readable(proposal.graph),
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
        return f"  {words[0]:>{sum(widths) - 2}}"
    return "".join(f"{word:>{width}}" for word, width in zip(words, widths, strict=True))


def _figures(candidate: Candidate, anchors: list[str]) -> list[str]:
    """Mean and anchors of a scored candidate; else one word for what came of it."""
    outcome = candidate.outcome
    if isinstance(outcome, Scores):
        return _percents(outcome.average, outcome.accuracies, anchors)
    if isinstance(outcome, Rejected):
        return [f"rejected by {outcome.verdict.label}"]
    return ["in work" if outcome is None else "failed"]


def _percents(average: float, accuracies: dict[str, float], anchors: list[str]) -> list[str]:
    return [f"{100 * each:.2f}" for each in (average, *(accuracies[anchor] for anchor in anchors))]
