"""What an evaluation has behind it: in a folder it stays, so that no stage is run again after a stop."""

from pathlib import Path

from evonorm.journal import Stage, StageKey, Test, add_record, read_records


class StageLog:
    """The stages of one evaluation so far; without a folder an earlier process left none."""

    FILE = "stages.jsonl"

    def __init__(self, folder: Path | None) -> None:
        self.stages: list[Stage] = []
        self._folder = folder
        known = [Stage(**record) for record in read_records(folder / self.FILE)] if folder else []
        self._known = {stage.key: stage for stage in known}

    def recall(self, key: StageKey) -> bool:
        """Takes over a stage that an earlier process has behind it; whether there was one."""
        known = self._known.get(key)
        if known:
            self.stages.append(known)
        return known is not None

    def add(self, stage: Stage, passed: bool) -> None:
        self.stages.append(stage)
        if passed and self._folder:
            add_record(self._folder / self.FILE, stage.to_json())

    def steps_on(self, anchor: str) -> int:
        """How far the stages took the training run on this anchor."""
        return sum(stage.steps for stage in self.stages if stage.anchor == anchor and stage.name != Test.STABILITY)

    def checkpoint(self, anchor: str) -> Path | None:
        """Where the training run on this anchor is stored."""
        return self._folder / f"{anchor}.pt" if self._folder else None
