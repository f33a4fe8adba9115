"""Finds the photos below a folder: one `scandir` a folder, whose entries already know what is a folder."""

import os
from dataclasses import dataclass, field
from pathlib import Path

EXTENSIONS = (".jpg", ".jpeg", ".png")


@dataclass
class Scan:
    """What was found so far.

    Attributes:
        root: paths are given below it.
        folders: every folder that was looked into, with its time of change before that, in nanoseconds.
    """

    root: Path
    folders: dict[str, int] = field(default_factory=dict)

    def entries(self, folder: str) -> list[os.DirEntry[str]]:
        """What is in a folder, hidden things left out, in the order of names."""
        path = self.root / folder
        self.folders[folder] = path.stat().st_mtime_ns
        with os.scandir(path) as entries:
            return sorted((each for each in entries if not each.name.startswith(".")), key=lambda each: each.name)

    def subfolders(self, folder: str) -> list[str]:
        return [each.name for each in self.entries(folder) if each.is_dir()]

    def photos_in(self, folder: str) -> list[tuple[str, int]]:
        """(path below the root, size) of every photo in a folder and those below it."""
        found: list[tuple[str, int]] = []
        for each in self.entries(folder):
            name = f"{folder}/{each.name}"
            if each.name.lower().endswith(EXTENSIONS):
                found.append((name, each.stat().st_size))
            elif each.is_dir():
                found += self.photos_in(name)
        return found
