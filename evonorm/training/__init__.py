"""One training loop for everything in this project. Read `run.py` first, then `recipe.py` (what can be chosen).

`validation.py` measures accuracy, also with re-estimated moments; `checkpoint.py` stores a run and takes it up again;
`memory.py` keeps the allocator from slowing it down.
Models, batches and the list of undecayed parameters are handed in: this room knows no layer and no data set.
"""

from evonorm.training.checkpoint import load_checkpoint as load_checkpoint
from evonorm.training.checkpoint import save_checkpoint as save_checkpoint
from evonorm.training.memory import keep_freed_memory as keep_freed_memory
from evonorm.training.recipe import TrainingRecipe as TrainingRecipe
from evonorm.training.run import Ending as Ending
from evonorm.training.run import TrainingRun as TrainingRun
from evonorm.training.validation import accuracy as accuracy
from evonorm.training.validation import reestimated_moments as reestimated_moments
