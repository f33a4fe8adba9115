"""Pictures in memory. Read `images.py` first (what a data set is), then `crops.py` (what a training step sees).

`load.py` opens a data set by name; `cifar10.py` keeps the real CIFAR-10 in one checked file, `cifar10_sources.py` says
where it comes from, `digits.py` is the stand-in that needs no download.
"""

from evonorm.data.cifar10 import cifar10_path as cifar10_path
from evonorm.data.cifar10 import get_cifar10 as get_cifar10
from evonorm.data.cifar10_sources import SourceError as SourceError
from evonorm.data.crops import CropBatches as CropBatches
from evonorm.data.crops import whole_batches as whole_batches
from evonorm.data.images import DataSet as DataSet
from evonorm.data.images import Images as Images
from evonorm.data.load import DATA_SETS as DATA_SETS
from evonorm.data.load import load_data as load_data
from evonorm.data.load import register_data as register_data
