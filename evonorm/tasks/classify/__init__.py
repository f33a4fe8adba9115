"""Classifiers of photos: ImageNet and any folder in its layout. `photo_task.py` is the task."""

from evonorm.tasks.classify.photo_task import PhotoSettings as PhotoSettings
from evonorm.tasks.classify.photo_task import PhotoTask as PhotoTask
