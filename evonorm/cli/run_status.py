"""How a run stands: what was proposed, what was turned down where, what it cost."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from evonorm.journal import (
    Event,
    Hosts,
    Kind,
    Reader,
    RunFolder,
    cut_short,
    leaderboard,
    read_hosts,
    read_ledger,
    readable,
    run_state,
    why_not_reproducible,
)

RANKED, FAMILIES = 100, 6  # functions that are looked through, families that are shown


def run_status(folder: RunFolder, reader: Reader) -> Group:
    header = reader.header()
    data = header.get("data")
    pictures = data.get("name", "not named") if isinstance(data, dict) else "not named"
    steps, seconds = reader.cost()
    sessions = reader.events(Event.SESSION_STARTED)
    lines = [
        f"run {folder.name}: {run_state(reader)}",
        f"begun {header.get('created')} at commit {header.get('commit') or 'unknown'}, {len(sessions)} session(s)",
        f"seed {header.get('seed')}, data {pictures}, journal {folder.journal}",
        f"{reader.proposed():,} proposed: {verdict_words(reader)}",
        f"{steps:,} training steps and {seconds / 60:.1f} worker minutes spent",
    ]
    lines += [f"not reproducible: {why}" for why in why_not_reproducible(reader)]
    if (cut := cut_short(reader)) is not None:
        lines.append(cut)
    lines += sorted({body["why"] for _, body in reader.events(Event.HOST_REFUSED)})
    hosts = read_hosts(reader)
    if hosts:
        lines.append(f"hosts: {hosts}")
    table = ledger_table(reader)
    tables = [*([table] if table.row_count else []), *([hosts_table(hosts)] if hosts else [])]
    return Group(Text("\n".join(lines)), *tables, family_lines(reader))


def hosts_table(hosts: Hosts) -> Table:
    """A row for each of the nodes that offered most."""
    heads = ("workers now", "joined", "lost", "worker-hours")
    table = Table("node", *(Column(head, justify="right") for head in heads), "processor")
    for name, row in hosts.rows():
        hours = f"{row.seconds / 3600:,.2f}"
        table.add_row(name, f"{row.workers:,}", f"{row.joined:,}", f"{row.lost:,}", hours, row.processor)
    return table


def family_lines(reader: Reader) -> Text:
    """The best ideas of the run: how many functions are one, who founded them, where and when they were last found."""
    ranked = leaderboard(reader, RANKED)
    if not ranked:
        return Text("")
    from evonorm.fitness import family_stories  # with torch, which takes its time; not for a run without scores

    stories = family_stories(reader, ranked)
    functions = sum(len(each.family.members) for each in stories)
    heads = ("best", "mean %", "functions", "founder", "islands", "newest")
    text = Text(f"the best {functions} functions are {len(stories)} families\n")
    text.append(f"{_columns(heads)}   formula of the best\n", style="bold")
    for story in stories[:FAMILIES]:
        head = story.family.head
        founders = f"{story.founders[0]}{f' +{len(story.founders) - 1}' if story.founders[1:] else ''}"
        islands = ",".join(map(str, story.islands)) or "-"
        figures = str(head.candidate.proposal.index), f"{100 * head.average:.2f}", str(len(story.family.members))
        cells = (*figures, founders, islands, str(story.newest))
        text.append(f"{_columns(cells)}   {readable(head.candidate.proposal.graph)}\n", style="not bold")
    return text


def _columns(words: Sequence[str]) -> str:
    return "".join(f"{word:>11}" for word in words)


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
