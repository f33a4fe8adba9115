"""What can be trained, by name: a model with its batches, losses and measures, each task in a folder of its own.

`classify/` has photos in folders (ImageNet), `detect/` objects and their masks (COCO), `gan/` BigGAN-deep with its
scores. Tasks are registered for `evonorm train`; the loop is in `training`.
"""

from evonorm.tasks.classify import PhotoSettings as PhotoSettings
from evonorm.tasks.classify import PhotoTask as PhotoTask
from evonorm.tasks.detect import CocoSettings as CocoSettings
from evonorm.tasks.detect import CocoTask as CocoTask
from evonorm.tasks.detect import FoundObjects as FoundObjects
from evonorm.tasks.detect import average_precisions as average_precisions
from evonorm.tasks.detect import draw_objects as draw_objects
from evonorm.tasks.detect import find_objects as find_objects
from evonorm.tasks.detect import write_drawings as write_drawings
from evonorm.tasks.gan import FID_2015 as FID_2015
from evonorm.tasks.gan import SLIM as SLIM
from evonorm.tasks.gan import GanSettings as GanSettings
from evonorm.tasks.gan import GanTask as GanTask
from evonorm.tasks.gan import get_weights as get_weights
from evonorm.tasks.gan import sample_sheet as sample_sheet
