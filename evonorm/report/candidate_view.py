"""What the pages about single candidates show: one in full, and lists of them."""

from typing import Any

from evonorm.export import layer_source
from evonorm.graph import Graph
from evonorm.journal import (
    Candidate,
    Noise,
    Origin,
    Reader,
    Rejected,
    Scores,
    Test,
    ancestry,
    average,
    children,
    count_children,
    figure_words,
    list_candidates,
    plain_formula,
    readable,
    verdict_words,
)
from evonorm.report.facts import duration
from evonorm.report.layer_pictures import drawing, formula_picture, response_picture, simplest
from evonorm.report.training_curves import curves_of_candidate

PAGE_SIZE = 50


def candidate_values(
    reader: Reader, candidate: Candidate, references: dict[str, dict[str, float]], noise: Noise
) -> dict[str, Any]:
    """The values of candidate.html."""
    proposal, outcome = candidate.proposal, candidate.outcome
    graph = proposal.graph
    stages = outcome.stages if outcome is not None else ()
    return {
        "index": proposal.index,
        "reference_name": proposal.name,
        "verdict": verdict_words(outcome),
        "why": Test.explain(outcome.test) if isinstance(outcome, Rejected) else None,
        "origin": origin_words(proposal.origin),
        "origin_words": origin_words,
        "steps": candidate.steps,
        "duration": duration(candidate.seconds),
        "math": formula_picture(simplest(graph), affine=True, display=True),
        "formula": plain_formula(graph),
        "raw": readable(graph),
        "noise": noise,
        "drawing": drawing(graph),
        "whole_drawing": drawing(graph, dead=True),
        "response": response_picture(graph),
        "accuracies": outcome.accuracies if isinstance(outcome, Scores) else {},
        "average": outcome.average if isinstance(outcome, Scores) else None,
        "references": references,
        "reference_averages": [average(row) for row in references.values()],
        "curves": curves_of_candidate(stages),
        "stages": [{"name": s.label, "anchor": s.anchor, "steps": s.steps, "seconds": s.seconds,
                    "figures": figure_words(s.figures)} for s in stages],
        "ancestry": ancestry(reader, proposal.index),
        "children": children(reader, proposal.index),
        "all_children": count_children(reader, proposal.index),
        "use": _use(graph, proposal.name),
        "source": layer_source(graph, f"Candidate{proposal.index}"),
        "genotype": graph.encode(),
    }  # fmt: skip


def origin_words(origin: str) -> str:
    return Origin.explain(origin) or origin


def _use(graph: Graph, name: str | None) -> str:
    layer = repr(name or readable(graph))
    if not name and readable(graph) == graph.encode():
        layer = f"evonorm.Graph.decode({graph.encode()!r})"
    return f"import evonorm\n\nlayer = evonorm.create_layer({layer}, channels=64)"


def candidate_rows(
    reader: Reader, kind: str, start: int, sort: str = "", down: bool = True, words: str = ""
) -> list[dict[str, Any]]:
    """One page of the list of candidates: scores from the best down, others in their order, or as asked for."""
    found = list_candidates(reader, kind, start, PAGE_SIZE, sort, down, words)
    return [_row(candidate) for candidate in found]


def _row(candidate: Candidate) -> dict[str, Any]:
    proposal = candidate.proposal
    return {
        "index": proposal.index,
        "formula": plain_formula(proposal.graph),
        "average": candidate.outcome.average if isinstance(candidate.outcome, Scores) else None,
        "origin": proposal.name or proposal.origin,
        "verdict": verdict_words(candidate.outcome),
        "steps": candidate.steps,
        "seconds": candidate.seconds,
    }
