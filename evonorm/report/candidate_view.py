"""What the pages about single candidates show: one in full, and lists of them."""

from typing import Any

from evonorm.export import layer_source
from evonorm.graph import Graph
from evonorm.journal import Candidate, Reader, Rejected, Scores
from evonorm.report.facts import duration, verdict
from evonorm.report.family import ancestry, children, count_children, readable
from evonorm.report.layer_pictures import drawing, formula_picture, response_picture
from evonorm.report.questions import ask
from evonorm.report.training_curves import curves_of_candidate
from evonorm.report.words import origin_words, why_it_rejects

KINDS = ("all", "scores", "rejected", "failed", "pending")
PAGE_SIZE = 50

_LIST = {
    "all": "SELECT idx FROM proposals WHERE idx >= ? ORDER BY idx LIMIT ?",
    "scores": "SELECT idx FROM outcomes WHERE average IS NOT NULL ORDER BY average DESC LIMIT ? OFFSET ?",
    "pending": """SELECT idx FROM proposals p WHERE NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.idx = p.idx)
        ORDER BY idx DESC LIMIT ? OFFSET ?""",
    "kind": "SELECT idx FROM outcomes WHERE kind = ? ORDER BY kind, test, arrival LIMIT ? OFFSET ?",
}


def candidate_values(reader: Reader, candidate: Candidate, references: dict[str, dict[str, float]]) -> dict[str, Any]:
    """The values of candidate.html."""
    proposal, outcome = candidate.proposal, candidate.outcome
    graph = proposal.graph
    stages = outcome.stages if outcome is not None else ()
    return {
        "index": proposal.index,
        "reference_name": proposal.name,
        "verdict": verdict(outcome),
        "why": why_it_rejects(outcome.test) if isinstance(outcome, Rejected) else None,
        "origin": origin_words(proposal.origin),
        "steps": candidate.steps,
        "duration": duration(candidate.seconds),
        "math": formula_picture(graph, affine=True, display=True),
        "drawing": drawing(graph),
        "whole_drawing": drawing(graph, dead=True),
        "response": response_picture(graph),
        "accuracies": outcome.accuracies if isinstance(outcome, Scores) else {},
        "average": outcome.average if isinstance(outcome, Scores) else None,
        "references": references,
        "reference_averages": [sum(row.values()) / len(row) for row in references.values()],
        "curves": curves_of_candidate(stages),
        "stages": [{"name": s.name, "anchor": s.anchor, "steps": s.steps, "seconds": s.seconds,
                    "figures": _short(s.figures)} for s in stages],
        "ancestry": ancestry(reader, proposal.index),
        "children": children(reader, proposal.index),
        "all_children": count_children(reader, proposal.index),
        "use": _use(graph, proposal.name),
        "source": layer_source(graph, f"Candidate{proposal.index}"),
        "genotype": graph.encode(),
    }  # fmt: skip


def _use(graph: Graph, name: str | None) -> str:
    layer = repr(name or readable(graph))
    if not name and readable(graph) == graph.encode():
        layer = f"evonorm.Graph.decode({graph.encode()!r})"
    return f"import evonorm\n\nlayer = evonorm.create_layer({layer}, channels=64)"


def _short(figures: dict[str, Any]) -> str:
    """The figures that fit on a line; curves are drawn."""
    plain = {key: each for key, each in figures.items() if not isinstance(each, list | dict)}
    return ", ".join(f"{key} {each:.4g}" if isinstance(each, float) else f"{key} {each}" for key, each in plain.items())


def candidate_rows(reader: Reader, kind: str, start: int) -> list[dict[str, Any]]:
    """One page of the list of candidates: scores from the best down, others in their order."""
    if kind == "all":
        rows = ask(reader, _LIST["all"], (start, PAGE_SIZE))
    elif kind in ("scores", "pending"):
        rows = ask(reader, _LIST[kind], (PAGE_SIZE, start))
    else:
        rows = ask(reader, _LIST["kind"], (kind, PAGE_SIZE, start))
    return [_row(reader.candidate(index)) for (index,) in rows]


def _row(candidate: Candidate) -> dict[str, Any]:
    proposal = candidate.proposal
    return {
        "index": proposal.index,
        "formula": readable(proposal.graph),
        "origin": proposal.name or proposal.origin,
        "verdict": verdict(candidate.outcome),
        "steps": candidate.steps,
        "seconds": candidate.seconds,
    }
