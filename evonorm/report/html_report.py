"""`evonorm report`: one self-contained HTML file, its figures as files, and the numbers behind them."""

from pathlib import Path

from evonorm.report.facts import population_window
from evonorm.report.figures import NamedTally
from evonorm.report.progress import PAPER_WINDOW
from evonorm.report.run_page import HEADINGS, RunPage, run_page
from evonorm.report.run_place import open_run
from evonorm.report.tally import Tally
from evonorm.report.templates import render


def write_report(runs: Path, name: str, out: Path | None = None, against: str | None = None) -> Path:
    """Writes report.html and figures/*.svg, *.csv to `out` (the run's folder + report); returns the HTML file."""
    out = out or runs / name / "report"
    other = None
    if against is not None:
        tally, window = read_tally(runs, against)
        other = NamedTally(against, tally, window)
    tally = Tally()
    with open_run(runs, name) as reader:
        tally.refresh(reader)
        page = run_page(reader, tally, name, other=other)
    (out / "figures").mkdir(parents=True, exist_ok=True)
    for figure in page.figures:
        (out / "figures" / f"{figure.name}.svg").write_text(figure.svg)
        (out / "figures" / f"{figure.name}.csv").write_text(figure.csv())
    path = out / "report.html"
    path.write_text(report_html(page))
    return path


def read_tally(runs: Path, name: str) -> tuple[Tally, int]:
    """What a run adds up to, and the size of its population."""
    tally = Tally()
    with open_run(runs, name) as reader:
        tally.refresh(reader)
        return tally, population_window(reader, PAPER_WINDOW)


def report_html(page: RunPage) -> str:
    values = {"title": page.heading, "page": page, "headings": HEADINGS, "sections": page.sections(), "digests": {}}
    return render("run.html", values, static=False)
