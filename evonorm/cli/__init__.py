"""The command line: one sub-command per thing a person does. Read `root.py` first.

It loads each command when it is asked for. `doctor.py`, `layers.py`, `cost.py`, `bench.py`, `show_kernel.py`,
`data.py`, `evaluate.py`, `search.py`, `judge.py`, `export.py`, `report.py`, `train.py`, `rerank.py`, `sample.py`,
`detections.py`, `calibrate.py` and `plugins.py` are the commands by subject; `search_display.py`,
`train_display.py`, `training_bars.py`, `work_bars.py`, `leaderboard.py`, `run_status.py` and `candidate_page.py` are
what they show on a terminal. `worker_options.py` are the options about who computes.
"""

import sys

from evonorm.foundation import needs


def main() -> None:
    """The entry point: mistakes of the user end in one message and exit code 2, never in a traceback."""
    try:
        with needs("search", "the command line"):
            from evonorm.cli.root import run
        run()
    except KeyboardInterrupt:  # also within the seconds that the imports take
        sys.exit(130)
    except ValueError as error:  # a missing extra, or a setting in the environment that is none
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
