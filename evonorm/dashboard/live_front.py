"""The first page: all searches, and all trainings with what is under way, made anew where the last one is old."""

import time
from pathlib import Path
from typing import Any

from evonorm.dashboard.live_trainings import LiveTrainings, find_trainings, training_names
from evonorm.journal import Ranked, Reader, end_of_journal, find_run, leaderboard, run_names, run_state
from evonorm.pictures import Markup
from evonorm.report import digest, render_macro

SHORTEST_WAIT = 3.0  # seconds between two renderings ...
SHARE = 0.01  # ... and at most this share of a core goes into them


class LiveFront:
    """What was last found in a folder of runs, as two sections of the first page."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.names: list[str] = []
        self.sections: dict[str, Markup] = {}
        self.digests: dict[str, str] = {}
        self.rendered, self.cost = 0.0, 0.0
        self.open_trainings: dict[str, LiveTrainings] = {}
        self._best_known: dict[str, tuple[int, Ranked | None]] = {}  # by run: up to which outcome, and what it is

    @property
    def wait(self) -> float:
        """Seconds until it makes sense to ask again."""
        return max(0.0, self.rendered + max(SHORTEST_WAIT, self.cost / SHARE) - time.monotonic())

    def refresh(self) -> None:
        if self.sections and self.wait > 0:
            return
        started = time.thread_time()
        self.names = run_names(self.runs)
        rows = [self._run_row(name) for name in self.names]
        trainings = [(name, self._under_way(name)) for name in training_names(self.runs)]
        self.sections = {
            "searches": render_macro("front_sections.html", "searches", rows, self.runs),
            "trainings": render_macro("front_sections.html", "trainings", trainings),
        }
        self.digests = {name: digest(section) for name, section in self.sections.items()}
        self.rendered, self.cost = time.monotonic(), time.thread_time() - started

    def trainings(self, name: str) -> LiveTrainings:
        """Those of one folder, as new as is cheap."""
        if name not in self.open_trainings:
            self.open_trainings[name] = find_trainings(self.runs, name)
        self.open_trainings[name].refresh()
        return self.open_trainings[name]

    def _run_row(self, name: str) -> dict[str, Any]:
        try:
            with find_run(self.runs, name).reader() as reader:
                last, proposed = end_of_journal(reader)
                row = {"proposed": proposed, "best": self._best(name, last, reader)}
                return {"name": name, "error": None, "state": str(run_state(reader)), **row}
        except ValueError as error:
            return {"name": name, "error": str(error)}

    def _best(self, name: str, last: int, reader: Reader) -> Ranked | None:
        """The best function of a run, by its mean; looked for again only where something has come in."""
        if self._best_known.get(name, (-1, None))[0] != last:
            self._best_known[name] = last, next(iter(leaderboard(reader, 1)), None)
        return self._best_known[name][1]

    def _under_way(self, name: str) -> list[str]:
        """What is being trained in a folder right now; nothing where it cannot be read."""
        try:
            found = self.trainings(name)
        except ValueError:
            return []
        return [words for section in found.values.get("sections", []) for words in section.under_way]
