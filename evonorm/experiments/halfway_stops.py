"""Would giving up half-way have lost anybody? Replays the rule over the journal of a run with a ladder.

    python -m evonorm.experiments.halfway_stops runs/NAME/journal.sqlite

Best on a run whose rungs do not give up: then every end is known. Where they do, a stopped run says nothing, and only
the candidates that are never stopped, one in five, can show a wrong stop.
"""

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from evonorm.experiments.false_alarms import CONFIDENCE, upper_bound
from evonorm.journal import Candidate, Reader
from evonorm.search.ceilings import HALFWAY_LOSS, Ceilings, rungs_cleared
from evonorm.search.hurdles import RUNG


def replay(candidates: Iterable[Candidate]) -> dict[int, Counter[str]]:
    """Counts for each rung: runs with a known end, those that cleared it, would be stopped, wrongly so; and steps.

    Candidates in the order of proposals, each judged by all before it (a search knows a few less, by its lag).
    """
    found: dict[int, Counter[str]] = {}
    ceilings: Ceilings | None = None
    seen: set[str | None] = {None}
    for each in candidates:
        if each.outcome is None or each.proposal.settled or each.proposal.origin == "reference":
            continue
        if each.proposal.function in seen - {None}:
            continue
        seen.add(each.proposal.function)
        rungs = {int(s.name.removeprefix(RUNG)): s for s in each.outcome.stages if s.name.startswith(RUNG)}
        ceilings = ceilings or Ceilings((True,) * 32)
        for number, stage in rungs.items():
            counts = found.setdefault(number, Counter())
            if stage.figures.get("ending") == "behind" or HALFWAY_LOSS not in stage.figures:
                continue
            ceiling = ceilings.losses()[number - 1]
            stopped = 0 < ceiling < stage.figures[HALFWAY_LOSS]
            cleared = number <= rungs_cleared(each.outcome)
            counts.update(known=1, steps=stage.steps, cleared=cleared, stopped=stopped, wrong=stopped and cleared)
            counts["cleared under the rule"] += cleared and ceiling > 0
            counts["saved"] += stopped * (stage.steps - stage.steps // 2)
        ceilings.learn(each.outcome)
    return found


def replay_table(found: dict[int, Counter[str]]) -> Table:
    table = Table("rung", "runs", "cleared", "would stop", "wrongly", "of those that clear, at most", "steps saved")
    for number, counts in sorted(found.items()):
        judged = counts["cleared under the rule"]
        bound = f"{upper_bound(counts['wrong'], judged):.1%} (n = {judged})" if judged else "-"
        cells = (counts[name] for name in ("known", "cleared", "stopped", "wrong"))
        saved = f"{counts['saved']} of {counts['steps']}"
        table.add_row(f"{RUNG}{number}", *map(str, cells), bound, saved)
    return table


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("journal", type=Path)
    with Reader(parser.parse_args().journal) as reader:
        found = replay(reader.candidates())
    console = Console(width=120)
    console.print(replay_table(found))
    console.print(f"at {CONFIDENCE:.0%} confidence, one-sided", highlight=False)


if __name__ == "__main__":
    main()
