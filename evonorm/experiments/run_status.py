"""How a run stands: what was proposed, what was turned down where, what it cost."""

import time

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evonorm.journal import Reader, RunFolder
from evonorm.journal.lock import lock_owner


def run_status(folder: RunFolder, reader: Reader) -> Group:
    header = reader.header()
    owner = lock_owner(folder.path)
    steps, seconds = reader.cost()
    sessions = reader.events("session started")
    lines = [
        f"run {folder.name}: {f'at work in process {owner}' if owner else 'not running'}",
        f"begun {header['created']} at commit {header['commit']}, {len(sessions)} session(s)",
        f"seed {header['seed']}, data {(header['data'] or {}).get('name', 'not named')}, journal {folder.journal}",
        f"{reader.proposed()} proposed; {steps} training steps and {seconds / 60:.1f} worker minutes spent",
    ]
    if sessions:
        lines.append(f"last session began {(time.time() - sessions[-1][0]) / 60:.1f} minutes ago")
    lines += [
        f"not reproducible: {why}" for why in sorted({body["why"] for _, body in reader.events("not reproducible")})
    ]
    return Group(Text("\n".join(lines)), verdict_table(reader), ledger_table(reader))


def ledger_table(reader: Reader) -> Table:
    """Where the cost went: nothing for what was settled at once, then stage by stage."""
    table = Table("stage", "anchor", "candidates", "training steps", "worker minutes")
    for verdict, number in reader.settled_at_once().items():
        table.add_row(verdict, "", str(number), "0", "0.0")
    for row in reader.ledger():
        table.add_row(row.stage, row.anchor, str(row.candidates), str(row.steps), f"{row.seconds / 60:.1f}")
    return table


def verdict_table(reader: Reader) -> Table:
    verdicts = reader.verdicts()
    proposed = max(1, reader.proposed())
    table = Table("came of it", "candidates", "share")
    for verdict, number in verdicts.items():
        table.add_row(verdict, str(number), f"{100 * number / proposed:.1f} %")
    return table
