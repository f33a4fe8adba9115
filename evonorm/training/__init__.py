"""One training loop for everything. Read `task.py` first (what can be trained), then `run.py` (the loop).

`recipe.py` has what can be chosen, on `optimizers.py` and `schedules.py`; `average.py` averages weights over steps,
`moments.py` says which worker's moving moments are kept, `devices.py` where and how precisely a step is computed,
`ranks.py` what many processes do together; `tasks.py` finds tasks by name. `classification.py` is the first task, with
`validation.py` for accuracy, also with moments estimated anew. `checkpoint.py` stores a run and takes it up again;
`memory.py` keeps the allocator from slowing it down. Models and batches are handed in: this room knows no layer and no
data set.
"""

from evonorm.training.checkpoint import Checkpoint as Checkpoint
from evonorm.training.checkpoint import load_checkpoint as load_checkpoint
from evonorm.training.checkpoint import load_weights as load_weights
from evonorm.training.checkpoint import read_tensors as read_tensors
from evonorm.training.checkpoint import save_checkpoint as save_checkpoint
from evonorm.training.checkpoint import save_weights as save_weights
from evonorm.training.classification import Classification as Classification
from evonorm.training.classification import classification_loss as classification_loss
from evonorm.training.devices import device_of as device_of
from evonorm.training.memory import keep_freed_memory as keep_freed_memory
from evonorm.training.ranks import my_workers as my_workers
from evonorm.training.ranks import rank as rank
from evonorm.training.ranks import ranks as ranks
from evonorm.training.ranks import sum_over_ranks as sum_over_ranks
from evonorm.training.ranks import torchrun_ranks as torchrun_ranks
from evonorm.training.ranks import word_of_the_first as word_of_the_first
from evonorm.training.recipe import AverageRecipe as AverageRecipe
from evonorm.training.recipe import EpochSize as EpochSize
from evonorm.training.recipe import TrainingRecipe as TrainingRecipe
from evonorm.training.run import AVERAGED as AVERAGED
from evonorm.training.run import Ending as Ending
from evonorm.training.run import TrainingRun as TrainingRun
from evonorm.training.task import Batches as Batches
from evonorm.training.task import Illustrated as Illustrated
from evonorm.training.task import Losses as Losses
from evonorm.training.task import Measure as Measure
from evonorm.training.task import Task as Task
from evonorm.training.task import Turn as Turn
from evonorm.training.tasks import TASKS as TASKS
from evonorm.training.tasks import TaskEntry as TaskEntry
from evonorm.training.tasks import register_task as register_task
from evonorm.training.validation import accuracy as accuracy
from evonorm.training.validation import reestimated_moments as reestimated_moments
