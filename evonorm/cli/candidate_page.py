"""Everything about one candidate, as text: formula, drawing, tests, ancestry, cost."""

from collections.abc import Iterator
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evonorm.graph import INITIAL_NODES, Graph
from evonorm.journal import (
    Candidate,
    Outcome,
    Reader,
    Rejected,
    Relative,
    Scores,
    ancestry,
    figure_words,
    readable,
    verdict_words,
)

SHOWN_ANCESTORS = 12


def candidate_page(reader: Reader, candidate: Candidate) -> Group:
    proposal = candidate.proposal
    seconds = f"{candidate.steps} training steps, {candidate.seconds:.1f} s"
    lines = [
        f"candidate {proposal.index}{f' ({proposal.name})' if proposal.name else ''}: {verdict(candidate.outcome)}",
        f"formula   {readable(proposal.graph)}   (then * gamma + beta)",
        f"LaTeX     {proposal.graph.latex()}",
        f"genotype  {proposal.graph.encode()}",
        f"origin    {proposal.origin}, evaluated with seed {proposal.seed}",
        f"cost      {seconds}",
        "",
        *tree_lines(proposal.graph),
        "",
    ]
    parts: list[Any] = [Text("\n".join(lines))]
    if candidate.outcome is not None and candidate.outcome.stages:
        parts.append(stage_table(candidate.outcome))
    if proposal.parents:
        parts.append(Text("\n".join(["ancestry, youngest first", *ancestry_lines(reader, candidate)])))
    return Group(*parts)


def verdict(outcome: Outcome | None) -> str:
    """The verdict with the figures behind it."""
    if isinstance(outcome, Scores):
        accuracies = ", ".join(f"{anchor} {100 * each:.2f}" for anchor, each in sorted(outcome.accuracies.items()))
        return f"{verdict_words(outcome)} ({accuracies})"
    if isinstance(outcome, Rejected):
        return f"{verdict_words(outcome)} {figure_words(outcome.figures)}"
    return verdict_words(outcome)


def stage_table(outcome: Outcome) -> Table:
    table = Table("stage", "anchor", "steps", "seconds", "figures", title="how it fared")
    for stage in outcome.stages:
        table.add_row(stage.label, stage.anchor, str(stage.steps), f"{stage.seconds:.1f}", figure_words(stage.figures))
    return table


def tree_lines(graph: Graph) -> list[str]:
    """The live graph as a tree from the output down; a node that is used again is only named the second time."""
    seen: set[int] = set()

    def walk(number: int, first: str, rest: str) -> Iterator[str]:
        if number < len(INITIAL_NODES):
            yield f"{first}{INITIAL_NODES[number]}"
            return
        node = graph.node(number)
        again = number in seen
        yield f"{first}{node.op}  [{number}]{' (as above)' if again else ''}"
        if again:
            return
        seen.add(number)
        for place, child in enumerate(node.inputs, start=1):
            last = place == len(node.inputs)
            yield from walk(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))

    return list(walk(graph.output, "", ""))


def ancestry_lines(reader: Reader, candidate: Candidate) -> list[str]:
    found = ancestry(reader, candidate.proposal.index, SHOWN_ANCESTORS + 1)
    lines = [_ancestor_line(each) for each in found[:SHOWN_ANCESTORS]]
    return [*lines, "  …"] if len(found) > SHOWN_ANCESTORS else lines


def _ancestor_line(each: Relative) -> str:
    score = "" if each.average is None else f"{100 * each.average:.2f} %"
    return f"  {each.index}: {score}  {each.formula}  ({each.origin})"
