"""What trainings show beside their figures: the pictures of their measurements, small enough for one file."""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evonorm.journal import KeptResults
from evonorm.report.kept_trainings import Setup

MOST_STEPS = 6  # of one picture over time
LARGEST = 2_000_000  # bytes of a picture that is put into a page
_NAME = re.compile(r"step(\d+)-([\w-]+)\.png")


@dataclass(frozen=True)
class Shot:
    """A picture of a measurement, as the address of an image that is its own content."""

    step: int
    name: str
    address: str


@dataclass(frozen=True)
class Album:
    """The pictures of one training: the latest, and one of them over time."""

    label: str
    seed: int
    latest: list[Shot]
    over_time: list[Shot]


def albums_of(setup: Setup, labels: Mapping[str, str], kept: KeptResults) -> list[Album]:
    """One for every layer that has pictures, of its first seed with some."""
    found = []
    for layer in setup.layers:
        each = (_album(labels[layer], one.seed, kept.picture_files(one.key)) for one in setup.of(layer))
        album = next((album for album in each if album.latest), None)
        found += [album] if album else []
    return found


def _album(label: str, seed: int, files: list[Path]) -> Album:
    named = [(int(match[1]), match[2], path) for path in files if (match := _NAME.fullmatch(path.name))]
    named = [each for each in named if each[2].stat().st_size <= LARGEST]
    last = max((step for step, _, _ in named), default=0)
    latest = [Shot(step, name, _address(path)) for step, name, path in named if step == last]
    first = latest[0].name if latest else ""
    series = [(step, path) for step, name, path in named if name == first]
    return Album(label, seed, latest, [Shot(step, first, _address(path)) for step, path in _spread(series)])


def _spread(series: list[tuple[int, Path]]) -> list[tuple[int, Path]]:
    """A few of them from the first to the last; nothing where there is only one."""
    if len(series) <= MOST_STEPS:
        return series if len(series) > 1 else []
    return [series[round(i * (len(series) - 1) / (MOST_STEPS - 1))] for i in range(MOST_STEPS)]


def _address(path: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
