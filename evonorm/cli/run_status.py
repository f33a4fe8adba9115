"""How a run stands: what was proposed, what was turned down where, what it cost."""

from collections import Counter

from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from evonorm.journal import Event, Kind, Reader, RunFolder, read_ledger, run_state


def run_status(folder: RunFolder, reader: Reader) -> Group:
    header = reader.header()
    steps, seconds = reader.cost()
    sessions = reader.events(Event.SESSION_STARTED)
    lines = [
        f"run {folder.name}: {run_state(reader)}",
        f"begun {header['created']} at commit {header['commit'] or 'unknown'}, {len(sessions)} session(s)",
        f"seed {header['seed']}, data {(header['data'] or {}).get('name', 'not named')}, journal {folder.journal}",
        f"{reader.proposed():,} proposed: {verdict_words(reader)}",
        f"{steps:,} training steps and {seconds / 60:.1f} worker minutes spent",
    ]
    lines += [
        f"not reproducible: {why}" for why in sorted({body["why"] for _, body in reader.events(Event.NOT_REPRODUCIBLE)})
    ]
    table = ledger_table(reader)
    return Group(Text("\n".join(lines)), *([table] if table.row_count else []))


def ledger_table(reader: Reader) -> Table:
    """Where the cost went and what it turned down: what was settled at once, then stage by stage."""
    table = Table("stage", *(Column(head, justify="right") for head in ("judged", "rejected", "steps", "minutes")))
    for verdict, number in reader.settled_at_once().items():
        name, rejected = (verdict.label, number) if verdict.test else (f"{verdict.kind} reused", 0)
        table.add_row(name, f"{number:,}", f"{rejected:,}", "0", "0.0")
    for stage, row in read_ledger(reader).items():
        minutes = f"{row.seconds / 60:.1f}"
        table.add_row(
            f"{stage.label} on {stage.anchor}", f"{row.candidates:,}", f"{row.rejected:,}", f"{row.steps:,}", minutes
        )
    return table


def verdict_words(reader: Reader) -> str:
    """How many came to which end, tests taken together: the ledger tells them apart."""
    ends = Counter[Kind]()
    for verdict, number in reader.verdicts().items():
        ends[verdict.kind] += number
    words: dict[Kind, str] = {
        "scores": "scored",
        "rejected": "rejected",
        "failed": "failed",
        "pending": "not judged yet",
    }
    return ", ".join(f"{ends[kind]:,} {word}" for kind, word in words.items() if ends[kind] or kind == "scores")
