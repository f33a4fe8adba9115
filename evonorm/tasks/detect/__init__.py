"""Instance segmentation on COCO. Read `coco_task.py` first: the task and what a recipe can choose.

`found_objects.py` has what a detector finds in pictures, `average_precision.py` how good that is, `drawn_objects.py`
shows it.
"""

from evonorm.tasks.detect.average_precision import average_precisions as average_precisions
from evonorm.tasks.detect.coco_task import CocoSettings as CocoSettings
from evonorm.tasks.detect.coco_task import CocoTask as CocoTask
from evonorm.tasks.detect.drawn_objects import draw_objects as draw_objects
from evonorm.tasks.detect.drawn_objects import write_drawings as write_drawings
from evonorm.tasks.detect.found_objects import FoundObjects as FoundObjects
from evonorm.tasks.detect.found_objects import find_objects as find_objects
