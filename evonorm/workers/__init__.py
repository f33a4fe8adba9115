"""Who computes. A worker runs a function by its dotted name on JSON and gives JSON back; no object crosses over.

Read `interface.py` first; `inline.py` computes in the driver itself, `processes.py` in child processes, each of
which runs `child.py` on the cores that `cores.py` gives it.
"""

from evonorm.workers.inline import InlineWorkers as InlineWorkers
from evonorm.workers.interface import Broken as Broken
from evonorm.workers.interface import Finished as Finished
from evonorm.workers.interface import Report as Report
from evonorm.workers.interface import Task as Task
from evonorm.workers.interface import WorkerNote as WorkerNote
from evonorm.workers.interface import Workers as Workers
from evonorm.workers.processes import ProcessWorkers as ProcessWorkers
from evonorm.workers.settings import WorkerSettings as WorkerSettings
from evonorm.workers.settings import create_workers as create_workers
