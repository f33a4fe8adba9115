"""The best functions of a run beside its references, in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from evonorm.journal import Candidate, Ranked, Rejected, Scores, plain_formula, readable

if TYPE_CHECKING:
    from evonorm.fitness import Priced


def leaderboard_text(rows: list[Ranked], references: list[Candidate], raw: bool = False) -> Text:
    """Functions first, then the references; accuracies in %. Lines, not a table: formulas may be long."""
    anchors = _anchors([row.candidate for row in rows] + references)
    heads = ["mean", "±", *(anchor.removesuffix("-nano").removesuffix("-cifar") for anchor in anchors)]
    widths = [max(7, len(head) + 2) for head in heads]
    head = f"{'':4}{'candidate':>12}{'n':>4}{_columns(heads, widths)}   formula, then * gamma + beta\n"
    text = Text(head, style="bold")
    for rank, row in enumerate(rows, start=1):
        figures = _columns(_percents(row.average, row.half, row.accuracies, anchors), widths)
        proposal = row.candidate.proposal
        rejected = f"   ({row.rejected_runs} of {row.runs} runs rejected)" if row.rejected_runs else ""
        formula = readable(row.graph) if raw else row.formula
        text.append(f"{rank:4}{proposal.index:12}{row.runs:4}{figures}   {formula}{rejected}\n", style="not bold")
    noise = rows[0].noise.half(1) if rows else None
    for reference in references:
        figures = _columns(_figures(reference, noise, anchors), widths)
        runs = 0 if reference.outcome is None else 1
        text.append(
            f"{'':4}{reference.proposal.name:>12}{runs:4}{figures}   {reference.proposal.graph}\n", style="not bold dim"
        )
    text.append(noise_words(rows), style="not bold dim")
    return text


def noise_words(rows: Sequence[Ranked]) -> str:
    """What the intervals of a leaderboard go by, or why there are none."""
    if not rows:
        return ""
    noise = rows[0].noise
    if noise.half(1) is None:
        return "± needs functions that were trained more than once: as it is, single runs may differ by luck alone.\n"
    return (
        f"± is half a 95 % interval, by what runs of one function scatter here (s = {100 * noise.deviation:.2f},"
        f" {noise.freedom} degrees of freedom). The best of many looks better than it is: `evonorm judge`.\n"
    )


def front_text(front: Sequence["Priced"], cost: str, raw: bool = False) -> Text:
    """What each step up in cost buys, the cheapest first."""
    text = Text(
        f"{cost:>14}{'candidate':>12}{'n':>4}{'mean':>7}{'±':>7}   formula, then * gamma + beta\n", style="bold"
    )
    for each in front:
        row = each.ranked
        formula = readable(row.graph) if raw else row.formula
        place = f"{each.cost:>14.4g}{row.candidate.proposal.index:12}{row.runs:4}"
        text.append(f"{place}{100 * row.average:7.2f}{_half(row.half):>7}   {formula}\n", style="not bold")
    return text


def row_json(row: Ranked) -> dict[str, Any]:
    """For `evonorm top --json`: the candidate of the best run with the function's averages."""
    means = {"average": row.average, "half": row.half, "accuracies": row.accuracies, "simplified": row.formula}
    return {**candidate_json(row.candidate), **means, "runs": row.runs, "rejected_runs": row.rejected_runs}


def candidate_json(candidate: Candidate) -> dict[str, Any]:
    """One candidate's own run."""
    proposal, outcome = candidate.proposal, candidate.outcome
    return {
        "candidate": proposal.index,
        "name": proposal.name,
        "formula": readable(proposal.graph),
        "simplified": plain_formula(proposal.graph),
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


def _figures(candidate: Candidate, half: float | None, anchors: list[str]) -> list[str]:
    """Mean and anchors of a scored candidate; else one word for what came of it."""
    outcome = candidate.outcome
    if isinstance(outcome, Scores):
        return _percents(outcome.average, half, outcome.accuracies, anchors)
    if isinstance(outcome, Rejected):
        return [f"rejected by {outcome.verdict.label}"]
    return ["in work" if outcome is None else "failed"]


def _percents(average: float, half: float | None, accuracies: dict[str, float], anchors: list[str]) -> list[str]:
    return [f"{100 * average:.2f}", _half(half), *(f"{100 * accuracies[anchor]:.2f}" for anchor in anchors)]


def _half(half: float | None) -> str:
    return "-" if half is None else f"{100 * half:.2f}"
