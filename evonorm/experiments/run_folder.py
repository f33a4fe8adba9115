"""Where a run lives: `runs/NAME/` with its journal, its recipe, its lock and its workers' log."""

import re
from dataclasses import dataclass
from pathlib import Path

from evonorm.journal import Reader

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


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
        return self.path / "journal.sqlite"

    @property
    def recipe(self) -> Path:
        return self.path / "recipe.toml"

    @property
    def worker_log(self) -> Path:
        return self.path / "workers.log"

    @property
    def reference_cache(self) -> Path:
        return self.runs / ".references"

    def reader(self) -> Reader:
        """Answers about the run; an unknown name lists the known ones."""
        if not self.journal.exists():
            known = sorted(path.parent.name for path in self.runs.glob("*/journal.sqlite"))
            raise ValueError(
                f"there is no run {self.name!r} in {self.runs}. Known runs: {', '.join(known) or 'none yet'}."
            )
        return Reader(self.journal)


def fresh_name(runs: Path, stem: str) -> str:
    """`stem-1`, or the first number that is free."""
    number = 1
    while (runs / f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"
