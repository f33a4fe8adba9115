"""Everything about one candidate, as text: formula, drawing, tests, ancestry, cost."""

from collections.abc import Iterator
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evonorm.graph import INITIAL_NODES, Graph
from evonorm.journal import Candidate, Failed, Outcome, Reader, Rejected, Scores

LONGEST_ANCESTRY = 12


def candidate_page(reader: Reader, candidate: Candidate) -> Group:
    proposal = candidate.proposal
    seconds = f"{candidate.steps} training steps, {candidate.seconds:.1f} s"
    lines = [
        f"candidate {proposal.index}{f' ({proposal.name})' if proposal.name else ''}: {verdict(candidate.outcome)}",
        f"formula   {proposal.graph}   (then * gamma + beta)",
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
    if isinstance(outcome, Scores):
        accuracies = ", ".join(f"{anchor} {100 * each:.2f}" for anchor, each in sorted(outcome.accuracies.items()))
        return f"{100 * outcome.average:.2f} % on average ({accuracies})"
    if isinstance(outcome, Rejected):
        where = f" on {outcome.anchor}" if outcome.anchor else ""
        return f"rejected by the test '{outcome.test}'{where} {_short(outcome.figures)}"
    return f"failed: {outcome.error}" if isinstance(outcome, Failed) else "in work"


def stage_table(outcome: Outcome) -> Table:
    table = Table("stage", "anchor", "steps", "seconds", "figures", title="how it fared")
    for stage in outcome.stages:
        table.add_row(stage.name, stage.anchor, str(stage.steps), f"{stage.seconds:.1f}", _short(stage.figures))
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
    lines: list[str] = []
    while candidate.proposal.parents and len(lines) < LONGEST_ANCESTRY:
        candidate = reader.candidate(candidate.proposal.parents[0])
        score = f"{100 * candidate.outcome.average:.2f} %" if isinstance(candidate.outcome, Scores) else ""
        lines.append(
            f"  {candidate.proposal.index}: {score}  {candidate.proposal.graph}  ({candidate.proposal.origin})"
        )
    return [*lines, "  …"] if candidate.proposal.parents else lines


def _short(figures: dict[str, Any]) -> str:
    """The figures that fit on a line; curves stay in the journal."""
    plain = {key: each for key, each in figures.items() if not isinstance(each, list | dict)}
    return ", ".join(f"{key} {each:.4g}" if isinstance(each, float) else f"{key} {each}" for key, each in plain.items())
