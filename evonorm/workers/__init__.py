"""Who computes. A worker runs a function by its dotted name on JSON and gives JSON back; no object crosses over.

Read `interface.py` first; `recipe.py` makes the workers that a recipe asks for. `inline.py` computes in the driver
itself, `processes.py` in child processes: `process.py` is the driver's side of one, which runs `child.py` on the cores
that `cores.py` gives it. On other machines, `host.py` has such processes behind one repeatable call (`exchange.py` has
its words); `hosts.py` is the driver's side, with a `contact.py` for each host. `cluster.py` says what a cluster must
offer, `ray_cluster.py` is one.
"""

from evonorm.workers.cluster import Greeting as Greeting
from evonorm.workers.inline import InlineWorkers as InlineWorkers
from evonorm.workers.interface import MOST_LOSSES as MOST_LOSSES
from evonorm.workers.interface import Announced as Announced
from evonorm.workers.interface import Broken as Broken
from evonorm.workers.interface import Finished as Finished
from evonorm.workers.interface import HostState as HostState
from evonorm.workers.interface import Reason as Reason
from evonorm.workers.interface import Report as Report
from evonorm.workers.interface import Task as Task
from evonorm.workers.interface import TimeLimits as TimeLimits
from evonorm.workers.interface import WorkerNote as WorkerNote
from evonorm.workers.interface import Workers as Workers
from evonorm.workers.interface import stage_name as stage_name
from evonorm.workers.process import end_leftovers as end_leftovers
from evonorm.workers.process import process_start_time as process_start_time
from evonorm.workers.processes import ProcessWorkers as ProcessWorkers
from evonorm.workers.recipe import WorkerRecipe as WorkerRecipe
from evonorm.workers.recipe import as_worker_recipe as as_worker_recipe
from evonorm.workers.recipe import create_workers as create_workers
