"""Finds a run by its name, which may come from a URL: a name can never lead outside of the folder of runs."""

import re
from pathlib import Path

from evonorm.journal import Reader

JOURNAL = "journal.sqlite"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class NoSuchRunError(ValueError):
    """There is no run of this name."""


def journal_path(runs: Path, name: str) -> Path:
    """The journal of a run; an unknown name lists the known ones."""
    path = runs / name / JOURNAL
    if not _NAME.fullmatch(name) or not path.is_file():
        known = ", ".join(run_names(runs)) or "none yet"
        raise NoSuchRunError(f"there is no run {name!r} in {runs}. Known runs: {known}.")
    return path


def open_run(runs: Path, name: str) -> Reader:
    return Reader(journal_path(runs, name))


def run_names(runs: Path) -> list[str]:
    """Every run of the folder, the one that was written last first."""
    found = [path for path in runs.glob(f"*/{JOURNAL}") if _NAME.fullmatch(path.parent.name)]
    return [path.parent.name for path in sorted(found, key=_last_written, reverse=True)]


def _last_written(path: Path) -> float:
    log = path.with_name(path.name + "-wal")
    return max(each.stat().st_mtime for each in (path, log) if each.exists())
