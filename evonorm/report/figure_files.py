"""Figures as files, for papers and slides."""

from pathlib import Path

from evonorm.report.figures import Figure
from evonorm.report.png import png_of, why_no_png


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
