"""A chart with the numbers behind it, and as files for papers and slides."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evonorm.pictures.markup import Markup
from evonorm.pictures.png import png_of, why_no_png


def file_name(*words: str) -> str:
    """The words of a figure's name, which an anchor from a journal may be among, without anything that is a path."""
    return "_".join(re.sub(r"[^A-Za-z0-9_.-]+|^\.+", "-", word)[:80] for word in words)


@dataclass(frozen=True)
class Figure:
    """A chart with its caption, and its data as a table."""

    name: str
    title: str
    svg: Markup
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(
            [float(f"{each:.7g}") if isinstance(each, float) else each for each in row] for row in self.rows
        )
        return text.getvalue()


def write_figures(figures: list[Figure], folder: Path) -> None:
    """Each figure as SVG, its data as CSV, and as PNG where this machine can (`why_no_png` says why not)."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        (folder / f"{figure.name}.svg").write_text(figure.svg)
        (folder / f"{figure.name}.csv").write_text(figure.csv())
        picture = folder / f"{figure.name}.png"
        if why_no_png() is None:
            picture.write_bytes(png_of(figure.svg))
        else:
            picture.unlink(missing_ok=True)  # one of an earlier report would contradict the SVG beside it
