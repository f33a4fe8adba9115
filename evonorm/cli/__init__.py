"""The command line: one sub-command per thing a person does. Read `root.py` first.

`search.py`, `train.py`, `sample.py`, `rerank.py`, `report.py`, `detections.py`, `bench.py`, `calibrate.py` and
`plugins.py` are its commands by subject; `search_display.py`, `train_display.py`, `training_bars.py`, `leaderboard.py`,
`run_status.py` and `candidate_page.py` are what they show on a terminal.
"""

import sys

from evonorm.foundation import MissingExtraError, needs


def main() -> None:
    """The entry point: mistakes of the user end in one message and exit code 2, never in a traceback."""
    try:
        with needs("search", "the command line"):
            from evonorm.cli.root import run
    except MissingExtraError as error:
        sys.exit(f"error: {error}")
    run()
