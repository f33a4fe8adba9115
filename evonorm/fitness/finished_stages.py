"""What an evaluation has behind it, on disk: a stage that a layer came through is not run again after a stop."""

from pathlib import Path

from evonorm.journal import Stage
from evonorm.journal.records import add_record, read_records


class FinishedStages:
    """The stages of one evaluation in a folder, a line each; without a folder nothing is remembered."""

    FILE = "stages.jsonl"

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / self.FILE if folder else None
        known = [Stage(**record) for record in read_records(self._path)] if self._path else []
        self._known = {(stage.name, stage.anchor): stage for stage in known}

    def find(self, name: str, anchor: str) -> Stage | None:
        return self._known.get((name, anchor))

    def add(self, stage: Stage) -> None:
        if self._path:
            add_record(self._path, vars(stage))
