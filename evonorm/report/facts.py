"""What a page says in words and numbers: what was run and what it cost."""

from typing import Any

from evonorm.journal import (
    Candidate,
    Reader,
    Scores,
    cut_short,
    read_hosts,
    run_state,
    verdict_words,
    why_not_reproducible,
)
from evonorm.report.tally import Tally


def what_was_run(reader: Reader, tally: Tally) -> list[tuple[str, str]]:
    """Label and text of each fact about the run, for people."""
    header = reader.header()
    search = _table(_table(header.get("recipe")).get("search"))
    method = {"random": "random search"}.get(str(search.get("method")), str(search.get("method", "not named")))
    machine, versions = _table(header.get("machine")), _table(header.get("versions"))
    return [
        ("method", f"{method}, {_batch_words(search)}, seed {header.get('seed')}"),
        ("data", str(_table(header.get("data")).get("name", "not named"))),
        ("judged by", _judge_words(_table(_table(header.get("recipe")).get("fitness")))),
        ("references", ", ".join(map(_reference_words, reader.references())) or "none"),
        ("begun", f"{header.get('created', 'unknown')}, {run_state(reader)}"),
        ("machine", f"{machine.get('processor', 'unknown')}, {machine.get('cores', '?')} cores"),
        ("software", ", ".join(f"{name} {version}" for name, version in versions.items()) or "unknown"),
        ("commit", str(header.get("commit") or "unknown")),
        ("proposed", f"{tally.proposed:,} candidates"),
        ("scored", f"{tally.count('scores'):,}, references included"),
        ("cost", f"{tally.steps:,} training steps, {duration(tally.seconds)} of worker time"),
        ("thrown away", cut_short(reader) or "nothing was cut short"),
        ("reproducible", "; ".join(map("no: {}".format, why_not_reproducible(reader))) or "yes, by its seed"),
        *([("hosts", str(hosts))] if (hosts := read_hosts(reader)) else []),
    ]


def _judge_words(fitness: dict[str, Any]) -> str:
    anchors, steps = fitness.get("anchors"), _table(fitness.get("training")).get("steps")
    if isinstance(objective := fitness.get("objective"), str):
        return f"the function {objective}, in % of the way from {fitness.get('worst')} to {fitness.get('best')}"
    if not isinstance(anchors, list | tuple) or not anchors:
        return "not named"
    trained = f"trained for {steps:,} steps each" if isinstance(steps, int) else "trained"
    return f"validation accuracy of {', '.join(map(str, anchors))}, {trained}"


def _reference_words(reference: Candidate) -> str:
    name = str(reference.proposal.name)
    return name if isinstance(reference.outcome, Scores) else f"{name} ({verdict_words(reference.outcome)})"


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _batch_words(search: dict[str, Any]) -> str:
    return "batch-independent layers" if search.get("batch_ops") is False else "all layers"


def population_window(reader: Reader, default: int) -> int:
    """How many scored candidates the search remembered."""
    search = _table(_table(reader.header().get("recipe")).get("search"))
    window = search.get("window", default)
    return window if isinstance(window, int) and window > 0 else default


def duration(seconds: float) -> str:
    """Two significant units at most: 42 s, 12 min, 3.5 h, 2.1 days."""
    for size, unit in ((86400 * 2, "days"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / (86400 if unit == 'days' else size):.3g} {unit}"
    return f"{seconds:.0f} s"
