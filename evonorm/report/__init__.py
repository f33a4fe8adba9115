"""Shows what was tried: figures, an HTML report, a live dashboard. Reads journals, never writes them.

Read `tally.py` first (what a journal adds up to, kept up to date), then `figures.py` (each chart with its data) on
`charts.py`, and `run_page.py` (everything that a page of a run shows). `html_report.py` writes it to a file, with
`png.py` for pictures; `dashboard.py` serves `dashboard_pages.py` live; `run.py` is the same for notebooks. HTML and CSS
are in `pages/`.
"""

from evonorm.report.html_report import write_report as write_report
from evonorm.report.layer_pictures import layer_page as layer_page
from evonorm.report.run import Run as Run
