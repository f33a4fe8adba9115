"""`evonorm report`: one self-contained HTML file, its figures as files, and the numbers behind them."""

from pathlib import Path

from evonorm.journal import find_run
from evonorm.pictures import write_figures
from evonorm.report.facts import population_window
from evonorm.report.figures import NamedTally
from evonorm.report.progress import PAPER_WINDOW
from evonorm.report.run_page import HEADINGS, RunPage, run_page
from evonorm.report.tally import Tally
from evonorm.report.templates import render


def write_report(runs: Path, name: str, out: Path | None = None, against: str | None = None) -> Path:
    """Writes report.html and its figures to `out` (the run's folder + report); returns the HTML file."""
    if against == name:
        raise ValueError(f"a report compares a run with another one, got {name!r} for both.")
    out = out or runs / name / "report"
    other = None
    if against is not None:
        tally, window = read_tally(runs, against)
        other = NamedTally(against, tally, window)
    tally = Tally()
    with find_run(runs, name).checked_reader() as reader:
        tally.refresh(reader)
        page = run_page(reader, tally, name, other=other)
    write_figures(page.figures, out / "figures")
    path = out / "report.html"
    path.write_text(report_html(page))
    return path


def read_tally(runs: Path, name: str) -> tuple[Tally, int]:
    """What a run adds up to, and the size of its population."""
    tally = Tally()
    with find_run(runs, name).checked_reader() as reader:
        tally.refresh(reader)
        return tally, population_window(reader, PAPER_WINDOW)


def report_html(page: RunPage) -> str:
    values = {"title": page.heading, "page": page, "headings": HEADINGS, "sections": page.sections(), "digests": {}}
    return render("run.html", values, served=False)
