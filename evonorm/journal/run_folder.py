"""Where a run lives: `runs/NAME/` with its journal, its recipe, its lock and its workers' log."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from evonorm.journal.reader import Reader

JOURNAL = "journal.sqlite"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class NoSuchRunError(ValueError):
    """There is no run of this name."""


@dataclass(frozen=True)
class RunFolder:
    """The places of one run; making the object touches nothing."""

    runs: Path
    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"a run's name is made of letters, digits, '_', '-' and '.' and does not begin with '.' or '-',"
                f" got {self.name!r}."
            )

    @property
    def path(self) -> Path:
        return self.runs / self.name

    @property
    def journal(self) -> Path:
        return self.path / JOURNAL

    @property
    def recipe(self) -> Path:
        return self.path / "recipe.toml"

    @property
    def worker_log(self) -> Path:
        return self.path / "workers.log"

    @property
    def reference_cache(self) -> Path:
        return self.runs / ".references"

    def command(self, *words: str) -> str:
        """A command line about this run, to be pasted: `evonorm show first CANDIDATE --runs elsewhere`."""
        place = () if self.runs == Path("runs") else ("--runs", str(self.runs))
        return shlex.join(["evonorm", words[0], self.name, *words[1:], *place])

    def reader(self) -> Reader:
        """Answers about the run; an unknown name lists the known ones."""
        return Reader(find_run(self.runs, self.name).journal)

    def checked_reader(self) -> Reader:
        """The same, once the whole journal was read and every row is what was written."""
        reader = self.reader()
        try:
            reader.check()
        except BaseException:
            reader.close()
            raise
        return reader


def find_run(runs: Path, name: str) -> RunFolder:
    """A run that is there. Its name may come from a URL: none leads outside of the folder of runs."""
    if not _NAME.fullmatch(name) or not RunFolder(runs, name).journal.is_file():
        known = ", ".join(run_names(runs)) or "none yet"
        raise NoSuchRunError(f"there is no run {name!r} in {runs}. Known runs: {known}.")
    return RunFolder(runs, name)


def run_names(runs: Path) -> list[str]:
    """Every run of the folder, the one that was written last first."""
    found = [path for path in runs.glob(f"*/{JOURNAL}") if _NAME.fullmatch(path.parent.name)]
    return [path.parent.name for path in sorted(found, key=_last_written, reverse=True)]


def _last_written(path: Path) -> float:
    log = path.with_name(path.name + "-wal")
    return max(each.stat().st_mtime for each in (path, log) if each.exists())


def fresh_name(runs: Path, stem: str) -> str:
    """`stem-1`, or the first number that is free."""
    number = 1
    while (runs / f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"
