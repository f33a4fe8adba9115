"""What can be trained, by name: a model with its batches, losses and measures, each task in a folder of its own.

`classify/` has photos in folders (ImageNet). Tasks are registered for `evonorm train`; the loop is in `training`.
"""

from evonorm.tasks.classify import PhotoSettings as PhotoSettings
from evonorm.tasks.classify import PhotoTask as PhotoTask
