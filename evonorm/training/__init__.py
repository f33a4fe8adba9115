"""One training loop for everything. Read `task.py` first (what can be trained), then `run.py` (the loop).

`recipe.py` has what can be chosen, on `optimizers.py` and `schedules.py`; `tasks.py` finds tasks by name.
`classification.py` is the first task, with `validation.py` for accuracy, also with moments estimated anew.
`checkpoint.py` stores a run and takes it up again; `memory.py` keeps the allocator from slowing it down. Models and
batches are handed in: this room knows no layer and no data set.
"""

from evonorm.training.checkpoint import Checkpoint as Checkpoint
from evonorm.training.checkpoint import load_checkpoint as load_checkpoint
from evonorm.training.checkpoint import save_checkpoint as save_checkpoint
from evonorm.training.classification import Classification as Classification
from evonorm.training.classification import classification_loss as classification_loss
from evonorm.training.memory import keep_freed_memory as keep_freed_memory
from evonorm.training.recipe import TrainingRecipe as TrainingRecipe
from evonorm.training.run import Ending as Ending
from evonorm.training.run import TrainingRun as TrainingRun
from evonorm.training.task import Batches as Batches
from evonorm.training.task import Measure as Measure
from evonorm.training.task import Task as Task
from evonorm.training.task import Turn as Turn
from evonorm.training.tasks import TASKS as TASKS
from evonorm.training.tasks import TaskEntry as TaskEntry
from evonorm.training.tasks import register_task as register_task
from evonorm.training.validation import accuracy as accuracy
from evonorm.training.validation import reestimated_moments as reestimated_moments
