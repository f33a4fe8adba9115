"""The command line: one sub-command per thing a person does. Read `root.py` first.

`search.py`, `report.py`, `bench.py`, `calibrate.py` and `plugins.py` are its commands by subject; `search_display.py`,
`leaderboard.py`, `run_status.py` and `candidate_page.py` are what they show on a terminal.
"""

from evonorm.cli.root import app as app
from evonorm.cli.root import main as main
