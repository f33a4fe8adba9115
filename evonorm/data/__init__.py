"""Pictures in memory. Read `images.py` first (what a data set is), then `crops.py` (what a training step sees).
Photos on a disk have a corner of their own, `photos`.

`load.py` opens a data set by name; `cifar10.py` keeps the real CIFAR-10 in one checked file, `cifar10_sources.py` says
where it comes from, `digits.py` is the stand-in that needs no download. `normalize.py` turns bytes into numbers,
`packages.py` gets archives by package name. `coco.py` reads COCO folders, `coco_pictures.py` makes what a detector sees
of them, masks as `mask_crops.py`.
"""

from evonorm.data.cifar10 import cifar10_path as cifar10_path
from evonorm.data.cifar10 import data_folder as data_folder
from evonorm.data.cifar10 import get_cifar10 as get_cifar10
from evonorm.data.coco import CocoPicture as CocoPicture
from evonorm.data.coco import CocoSplit as CocoSplit
from evonorm.data.coco import coco_folder as coco_folder
from evonorm.data.coco import load_coco as load_coco
from evonorm.data.coco_pictures import CocoBatches as CocoBatches
from evonorm.data.coco_pictures import Fit as Fit
from evonorm.data.coco_pictures import PicturesWithObjects as PicturesWithObjects
from evonorm.data.coco_pictures import evaluation_picture as evaluation_picture
from evonorm.data.coco_pictures import read_pixels as read_pixels
from evonorm.data.crops import CropBatches as CropBatches
from evonorm.data.crops import whole_batches as whole_batches
from evonorm.data.images import DataSet as DataSet
from evonorm.data.images import Images as Images
from evonorm.data.load import DATA_SETS as DATA_SETS
from evonorm.data.load import load_data as load_data
from evonorm.data.load import register_data as register_data
from evonorm.data.mask_crops import CROP as CROP
from evonorm.data.mask_crops import crop_masks as crop_masks
from evonorm.data.normalize import IMAGENET_MEAN as IMAGENET_MEAN
from evonorm.data.normalize import IMAGENET_STD as IMAGENET_STD
from evonorm.data.normalize import normalized as normalized
from evonorm.data.packages import SourceError as SourceError
from evonorm.data.packages import npm_archive as npm_archive
from evonorm.data.packages import pypi_wheel as pypi_wheel
from evonorm.data.photos import PhotoBatches as PhotoBatches
from evonorm.data.photos import PhotoFolder as PhotoFolder
from evonorm.data.photos import Photos as Photos
from evonorm.data.photos import PictureSettings as PictureSettings
from evonorm.data.photos import UnreadablePhotoError as UnreadablePhotoError
from evonorm.data.photos import open_class_folder as open_class_folder
from evonorm.data.photos import open_photo_folder as open_photo_folder
from evonorm.data.photos import stratified_split as stratified_split
from evonorm.data.photos import whole_photos as whole_photos
