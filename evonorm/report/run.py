"""A run for notebooks and scripts: plain records, figures, a report. Reads the journal and nothing else."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evonorm.fitness import cost_front, cost_named
from evonorm.journal import (
    Candidate,
    Failed,
    Ranked,
    Rejected,
    Scores,
    find_run,
    leaderboard,
    plain_formula,
    readable,
)
from evonorm.pictures import ON_PAPER, Figure, element, joined
from evonorm.report.facts import what_was_run
from evonorm.report.figures import funnel_figure
from evonorm.report.html_report import write_report
from evonorm.report.run_page import run_page
from evonorm.report.tally import Tally


class Run:
    """`Run("first")` is the run in runs/first. Every question looks at the journal as it is now.

    `records()` gives a plain dict per candidate, `to_dataframe()` the same as a table where pandas is installed,
    `figures()` the charts with their data, `report()` writes the HTML file.

    Arguments:
        name: of the run.
        runs: the folder of all runs.

    Raises ValueError if there is no such run (it says which is close), DamagedJournalError if its file is damaged.

    Example:
        run = evonorm.Run("first")
        for row in run.top(3):
            print(row["formula"], row["average"])
        print(run.figures()["progress_candidates"].csv()[:60])
    """

    def __init__(self, name: str, runs: str | Path = "runs") -> None:
        self.name = name
        self.runs = Path(runs)
        find_run(self.runs, name).checked_reader().close()

    def header(self) -> dict[str, Any]:
        """What the run was begun with: recipe, seed, data, versions, commit, machine."""
        with find_run(self.runs, self.name).reader() as reader:
            return reader.header()

    def records(self) -> Iterator[dict[str, Any]]:
        """A dict per candidate in the order of proposals; keys with a dot hold the accuracy on one anchor."""
        with find_run(self.runs, self.name).reader() as reader:
            for candidate in reader.candidates():
                yield _record(candidate)

    def top(self, number: int = 10) -> list[dict[str, Any]]:
        """The best functions as `evonorm top` ranks them: by their mean over `runs` runs, references not among them.

        Each is the record of its best run, with the function's mean accuracies in place of that run's; `half` is half
        the 95 % interval of `average`, or None where single runs are all there is.
        """
        with find_run(self.runs, self.name).reader() as reader:
            return [_ranked_record(row) for row in leaderboard(reader, number)]

    def front(self, cost: str = "nodes") -> list[dict[str, Any]]:
        """The best function at each cost ("nodes" or "instructions"), from the cheapest up; records as of `top`.

        Each has its `cost`, and none that costs as much or less has a larger mean.
        """
        with find_run(self.runs, self.name).reader() as reader:
            priced = cost_front(leaderboard(reader, None), cost_named(cost))
        return [_ranked_record(each.ranked) | {"cost": each.cost} for each in priced]

    def candidate(self, index: int) -> Candidate:
        """One candidate with its graph and the whole outcome."""
        with find_run(self.runs, self.name).reader() as reader:
            return reader.candidate(index)

    def to_dataframe(self) -> Any:
        """The records as a pandas.DataFrame, one row a candidate."""
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError:
            raise ImportError("to_dataframe() needs pandas (pip install pandas); records() works without.") from None
        return pandas.DataFrame(list(self.records()))

    def tally(self) -> Tally:
        """What the run adds up to: verdicts, cost, ledger, the table of scores."""
        tally = Tally()
        with find_run(self.runs, self.name).reader() as reader:
            tally.refresh(reader)
        return tally

    def figures(self) -> dict[str, Figure]:
        """Every chart by name, with `.svg` and `.csv()`."""
        tally = self.tally()
        with find_run(self.runs, self.name).reader() as reader:
            return {figure.name: figure for figure in run_page(reader, tally, self.name).figures}

    def report(self, out: str | Path | None = None, against: str | None = None) -> Path:
        """Writes the report as `evonorm report` does; returns the HTML file."""
        return write_report(self.runs, self.name, None if out is None else Path(out), against)

    def __repr__(self) -> str:
        return f"Run({self.name!r}, runs={str(self.runs)!r})"

    def _repr_html_(self) -> str:
        tally = self.tally()
        with find_run(self.runs, self.name).reader() as reader:
            facts = what_was_run(reader, tally)
        rows = [element("tr", {}, element("th", {}, label), element("td", {}, text)) for label, text in facts]
        table = element("table", {}, *rows)
        return element(
            "div", {"style": ON_PAPER}, joined(element("b", {}, f"Run {self.name}"), table, funnel_figure(tally).svg)
        )


def _ranked_record(row: Ranked) -> dict[str, Any]:
    means = {f"accuracy.{anchor}": accuracy for anchor, accuracy in row.accuracies.items()}
    runs = {"runs": row.runs, "rejected_runs": row.rejected_runs, "half": row.half}
    return _record(row.candidate) | {"average": row.average} | means | runs


def _record(candidate: Candidate) -> dict[str, Any]:
    proposal, outcome = candidate.proposal, candidate.outcome
    record: dict[str, Any] = {
        "index": proposal.index,
        "formula": readable(proposal.graph),
        "simplified": plain_formula(proposal.graph),
        "graph": proposal.graph.encode(),
        "origin": proposal.origin,
        "name": proposal.name,
        "parents": proposal.parents,
        "kind": "pending",
        "test": None,
        "anchor": None,
        "reason": None,
        "error": None,
        "average": math.nan,
        "steps": candidate.steps,
        "seconds": candidate.seconds,
    }
    if isinstance(outcome, Scores):
        record |= {"kind": "scores", "average": outcome.average}
        record |= {f"accuracy.{anchor}": accuracy for anchor, accuracy in outcome.accuracies.items()}
    elif isinstance(outcome, Rejected):
        record |= {"kind": "rejected", "test": outcome.verdict.label, "anchor": outcome.anchor}
    elif isinstance(outcome, Failed):
        record |= {"kind": "failed", "reason": outcome.reason, "error": outcome.error}
    return record
