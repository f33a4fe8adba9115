"""Shows what was tried: figures and an HTML report. Reads journals, never writes them.

Read `tally.py` first (what a journal adds up to, kept up to date), then `figures.py` (each chart with its data) and
`function_figures.py` (those of the best functions), then `run_page.py` (everything that a page of a run shows).
`html_report.py` writes it to a file; `run.py` is the same for notebooks; `comparison.py` puts two runs side by side;
`candidate_view.py` shows one candidate, with `training_curves.py` and `layer_pictures.py` (on `response.py`).
`scored.py`, `progress.py` and `agreement.py` are the numbers behind single figures, `facts.py` what a
page says in words. `templates.py` fills the HTML in `pages/`, which the dashboard shows live.

Trainings without a search: `kept_trainings.py` reads what `evonorm train` has kept, `training_report.py` writes their
report, with `training_table.py`, `setup_curves.py` and `albums.py` (pictures of their measurements); `setup_words.py`
says what was trained, `measures.py` how a measure is shown.
"""

from evonorm.report.agreement import Pair as Pair
from evonorm.report.agreement import agreement_figure as agreement_figure
from evonorm.report.candidate_view import PAGE_SIZE as PAGE_SIZE
from evonorm.report.candidate_view import candidate_rows as candidate_rows
from evonorm.report.candidate_view import candidate_values as candidate_values
from evonorm.report.comparison import found_by as found_by
from evonorm.report.comparison import side_of as side_of
from evonorm.report.comparison import verdict_words as verdict_words
from evonorm.report.facts import population_window as population_window
from evonorm.report.facts import what_was_run as what_was_run
from evonorm.report.figures import NamedTally as NamedTally
from evonorm.report.figures import funnel_figure as funnel_figure
from evonorm.report.figures import progress_figures as progress_figures
from evonorm.report.figures import response_figure as response_figure
from evonorm.report.html_report import write_report as write_report
from evonorm.report.layer_pictures import layer_page as layer_page
from evonorm.report.layer_pictures import prepare as prepare
from evonorm.report.progress import PAPER_WINDOW as PAPER_WINDOW
from evonorm.report.run import Run as Run
from evonorm.report.run_page import HEADINGS as HEADINGS
from evonorm.report.run_page import RunPage as RunPage
from evonorm.report.run_page import digest as digest
from evonorm.report.run_page import run_page as run_page
from evonorm.report.tally import Tally as Tally
from evonorm.report.templates import PAGES as PAGES
from evonorm.report.templates import compile_all as compile_all
from evonorm.report.templates import render as render
from evonorm.report.templates import render_macro as render_macro
from evonorm.report.training_curves import curves_of_layers as curves_of_layers
from evonorm.report.training_report import kept_trainings_at as kept_trainings_at
from evonorm.report.training_report import training_page as training_page
from evonorm.report.training_report import write_training_report as write_training_report
