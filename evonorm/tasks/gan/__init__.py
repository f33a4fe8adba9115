"""Generators trained against discriminators, and what they are measured by. Read `task.py` first.

`losses.py` has what the two nets minimize, `real_pictures.py` what a discriminator sees, `latents.py` what a generator
is asked for; `sampling.py` makes pictures with it and stores it, `sheet.py` puts them on one PNG. `scores.py` measures:
`inception.py` is the net that looks, `inception_files.py` gets its weights (`flatbuffer.py` reads one of the two files)
and keeps them, `tf_resize.py` makes pictures large as TensorFlow 1 did, `features.py` is what the net sees, kept for
real pictures, and `distances.py` has FID, KID and the Inception score as formulas.
"""

from evonorm.tasks.gan.inception_files import FID_2015 as FID_2015
from evonorm.tasks.gan.inception_files import SLIM as SLIM
from evonorm.tasks.gan.inception_files import get_weights as get_weights
from evonorm.tasks.gan.sampling import load_generator as load_generator
from evonorm.tasks.gan.scores import ScoreSettings as ScoreSettings
from evonorm.tasks.gan.sheet import sample_sheet as sample_sheet
from evonorm.tasks.gan.task import GanSettings as GanSettings
from evonorm.tasks.gan.task import GanTask as GanTask
