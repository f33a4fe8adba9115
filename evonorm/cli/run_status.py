"""How a run stands: what was proposed, what was turned down where, what it cost."""

import time
from collections import Counter

from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from evonorm.journal import Reader, RunFolder, lock_owner


def run_status(folder: RunFolder, reader: Reader) -> Group:
    header = reader.header()
    owner = lock_owner(folder.path)
    steps, seconds = reader.cost()
    sessions = reader.events("session started")
    lines = [
        f"run {folder.name}: {f'at work in process {owner}' if owner else 'not running'}",
        f"begun {header['created']} at commit {header['commit'] or 'unknown'}, {len(sessions)} session(s)",
        f"seed {header['seed']}, data {(header['data'] or {}).get('name', 'not named')}, journal {folder.journal}",
        f"{reader.proposed():,} proposed: {verdict_words(reader)}",
        f"{steps:,} training steps and {seconds / 60:.1f} worker minutes spent",
    ]
    if sessions:
        began = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(sessions[-1][0]))
        lines.append(f"last session began {began}")
    lines += [
        f"not reproducible: {why}" for why in sorted({body["why"] for _, body in reader.events("not reproducible")})
    ]
    table = ledger_table(reader)
    return Group(Text("\n".join(lines)), *([table] if table.row_count else []))


def ledger_table(reader: Reader) -> Table:
    """Where the cost went and what it turned down: what was settled at once, then stage by stage."""
    table = Table("stage", *(Column(head, justify="right") for head in ("judged", "rejected", "steps", "minutes")))
    for verdict, number in reader.settled_at_once().items():
        test = verdict.removeprefix("rejected: ")
        table.add_row(test, f"{number:,}", f"{number if test != verdict else 0:,}", "0", "0.0")
    for row in reader.ledger():
        minutes = f"{row.seconds / 60:.1f}"
        table.add_row(
            f"{row.stage} on {row.anchor}", f"{row.candidates:,}", f"{row.rejected:,}", f"{row.steps:,}", minutes
        )
    return table


def verdict_words(reader: Reader) -> str:
    """How many came to which end, tests taken together: the ledger tells them apart."""
    ends = Counter[str]()
    for verdict, number in reader.verdicts().items():
        ends[verdict.split(":")[0]] += number
    words = {"scores": "scored", "rejected": "rejected", "failed": "failed", "pending": "not judged yet"}
    return ", ".join(f"{ends[kind]:,} {word}" for kind, word in words.items() if ends[kind] or kind == "scores")
