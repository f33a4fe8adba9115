"""A candidate on its way: which graph, where it comes from, and with which seed it is judged."""

from dataclasses import dataclass
from typing import Any

from evonorm.graph import Graph
from evonorm.journal.outcomes import Outcome, Rejected, Scores


@dataclass(frozen=True)
class Proposal:
    """What `search.ask()` gives. Its randomness is the pair (the run's seed, index), so it needs no stored state."""

    index: int
    graph: Graph
    origin: str  # an `Origin`, or one of an older version
    seed: int  # of its evaluation
    parents: tuple[int, ...] = ()
    seen: int = 0  # how many outcomes of trained candidates the search knew when it made this one
    name: str | None = None  # the catalog's name of a reference
    rejected: Rejected | None = None  # turned down at once, without a worker
    function: str | None = None  # its fingerprint with its version; candidates that share it are the same layer
    reused: Scores | None = None  # the scores of an equal layer, for which nothing is trained

    @property
    def settled(self) -> Outcome | None:
        """The outcome that it came with; a proposal without one goes to a worker."""
        return self.rejected or self.reused

    def body(self) -> dict[str, Any]:
        """What the journal keeps as JSON beside the columns that it can search by."""
        body: dict[str, Any] = {"seed": self.seed, "seen": self.seen}
        if self.parents:
            body["parents"] = list(self.parents)
        if self.name:
            body["name"] = self.name
        if self.function:
            body["function"] = self.function
        return body


def proposal_from_row(
    index: int, graph: str, origin: str, body: dict[str, Any], settled: Outcome | None = None
) -> Proposal:
    return Proposal(
        index,
        Graph.decode(graph),
        origin,
        body["seed"],
        tuple(body.get("parents", ())),
        body["seen"],
        body.get("name"),
        settled if isinstance(settled, Rejected) else None,
        body.get("function"),
        settled if isinstance(settled, Scores) else None,
    )
