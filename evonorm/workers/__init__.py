"""Who computes. A worker runs a function by its dotted name on JSON and gives JSON back; no object crosses over.

Read `interface.py` first; `recipe.py` makes the workers that a recipe asks for. `inline.py` computes in the driver
itself, `processes.py` in child processes: `process.py` is the driver's side of one, which runs `child.py` on the cores
that `cores.py` gives it.
"""

from evonorm.workers.inline import InlineWorkers as InlineWorkers
from evonorm.workers.interface import Announced as Announced
from evonorm.workers.interface import Broken as Broken
from evonorm.workers.interface import Finished as Finished
from evonorm.workers.interface import Reason as Reason
from evonorm.workers.interface import Report as Report
from evonorm.workers.interface import Task as Task
from evonorm.workers.interface import TimeLimit as TimeLimit
from evonorm.workers.interface import WorkerNote as WorkerNote
from evonorm.workers.interface import Workers as Workers
from evonorm.workers.interface import no_limit as no_limit
from evonorm.workers.process import end_leftovers as end_leftovers
from evonorm.workers.process import process_start_time as process_start_time
from evonorm.workers.processes import ProcessWorkers as ProcessWorkers
from evonorm.workers.recipe import WorkerRecipe as WorkerRecipe
from evonorm.workers.recipe import create_workers as create_workers
