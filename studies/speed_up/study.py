"""What not training and training less are worth: several runs side by side, from their journals.

    python -m studies.speed_up.study plain-0 evolution-0 --runs runs/studies/speed_up/kept

A distinct function counts as judged when one candidate of it has a verdict, by whatever stage. The paper's cost of one
is that of a candidate that is trained to the end: three models of 3 to 10 hours each on two cores.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

from evonorm.journal import Candidate, Failed, Reader, RunFolder, Scores, leaderboard
from evonorm.kernels import fingerprint
from evonorm.pictures import markdown_table

COLUMNS = (
    "run",
    "proposed",
    "distinct functions judged",
    "training steps",
    "steps a function",
    "worker hours",
    "functions an hour",
    "scored",
    "best mean, % (n)",
    "best formula",
)


@dataclass(frozen=True)
class Judged:
    """What a run has judged and what that cost, references apart."""

    proposed: int
    functions: int
    steps: int
    seconds: float
    scored: int

    @property
    def steps_each(self) -> float:
        return self.steps / max(1, self.functions)

    @property
    def an_hour(self) -> float:
        return 3600 * self.functions / max(1e-9, self.seconds)


def judged(reader: Reader) -> Judged:
    """A plain run has no fingerprints in its journal: they are made here, so that both count alike."""
    every = [c for c in reader.candidates() if c.proposal.origin != "reference" and c.outcome is not None]
    settled = [c for c in every if not isinstance(c.outcome, Failed)]
    functions = {c.proposal.function or fingerprint(c.proposal.graph) for c in settled}
    scored = {c.proposal.function or fingerprint(c.proposal.graph) for c in settled if isinstance(c.outcome, Scores)}
    stages = [stage for c in every for stage in _paid(c)]
    steps = sum(stage.steps for stage in stages if stage.name != "stability")
    return Judged(len(every), len(functions), steps, sum(stage.seconds for stage in stages), len(scored))


def _paid(candidate: Candidate) -> tuple:
    """A score that is shared was paid for once."""
    return () if candidate.outcome is None or candidate.proposal.settled is not None else candidate.outcome.stages


def row(name: str, reader: Reader) -> list[str]:
    found, best = judged(reader), leaderboard(reader, 1)
    top = (
        [f"{100 * best[0].average:.2f} ({best[0].runs})", str(best[0].candidate.proposal.graph)] if best else ["-", "-"]
    )
    counts = [f"{found.proposed:,}", f"{found.functions:,}", f"{found.steps:,}", f"{found.steps_each:.1f}"]
    return [name, *counts, f"{found.seconds / 3600:.2f}", f"{found.an_hour:,.0f}", str(found.scored), *top]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    chosen = parser.parse_args()
    rows = []
    for name in chosen.names:
        with RunFolder(chosen.runs, name).reader() as reader:
            rows.append(row(name, reader))
    print(markdown_table(COLUMNS, rows))


if __name__ == "__main__":
    main()
