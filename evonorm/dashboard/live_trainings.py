"""The trainings that a dashboard shows: read again when there is something new, and no more often than is cheap."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evonorm.journal import KeptResults, NoSuchRunError
from evonorm.pictures import Markup
from evonorm.report import digest, render_macro, training_page

SHORTEST_WAIT = 3.0  # seconds between two renderings ...
SHARE = 0.01  # ... and at most this share of a core goes into them


@dataclass
class LiveTrainings:
    """The kept trainings of one folder among the runs, and the page that was last made of them."""

    name: str
    kept: KeptResults
    values: dict[str, Any] = field(default_factory=dict)
    sections: dict[str, Markup] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    shown: str = ""
    rendered: float = 0.0
    cost: float = 0.0

    @property
    def wait(self) -> float:
        """Seconds until it makes sense to ask again."""
        return max(0.0, self.rendered + max(SHORTEST_WAIT, self.cost / SHARE) - time.monotonic())

    def refresh(self) -> None:
        if self.values and self.wait > 0:
            return
        if (version := self.kept.version) != self.shown or not self.values:
            self._render(version)
        self.rendered = time.monotonic()

    def _render(self, version: str) -> None:
        started = time.thread_time()
        page = training_page(self.kept)
        self.sections = {
            each.id: render_macro("training_sections.html", "setup", each, page["reference"])
            for each in page["sections"]
        }
        self.digests = {name: digest(section) for name, section in self.sections.items()}
        self.values, self.shown, self.cost = page, version, time.thread_time() - started


def training_names(runs: Path) -> list[str]:
    """The folders among the runs in which trainings are kept or go on, the latest news first."""
    folders = [path for path in runs.iterdir() if path.is_dir()] if runs.is_dir() else []
    kept = {path.name: KeptResults(path) for path in folders}
    with_trainings = {name: each for name, each in kept.items() if each.path.is_file() or each.unfinished()}
    return sorted(with_trainings, key=lambda name: with_trainings[name].version, reverse=True)


def find_trainings(runs: Path, name: str) -> LiveTrainings:
    if name not in training_names(runs):
        raise NoSuchRunError(f"there are no trainings in {runs / name}. `evonorm train` keeps its own in runs/train.")
    return LiveTrainings(name, KeptResults(runs / name))
