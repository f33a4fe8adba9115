"""Folders of photos, ImageNet's above all. Read `folder.py` (what is there), then `batches.py` (what a step sees).

`scan.py` finds photos, `annotations.py` reads labels of a flat folder, `list_cache.py` keeps the list that
`photo_list.py` holds as arrays. `settings.py` says how a photo becomes a picture, `picture.py` does it: `decode.py`,
`windows.py` (crops), `scaling.py`, `augmentation.py` with the operations of `operations.py` and `warps.py`.
`stream.py` is the order of a training, `making.py` makes batches, `loaders.py` does so in other processes,
`evaluation.py` shows every photo once.
"""

from evonorm.data.photos.batches import PhotoBatches as PhotoBatches
from evonorm.data.photos.decode import UnreadablePhotoError as UnreadablePhotoError
from evonorm.data.photos.evaluation import whole_photos as whole_photos
from evonorm.data.photos.folder import PhotoFolder as PhotoFolder
from evonorm.data.photos.folder import open_class_folder as open_class_folder
from evonorm.data.photos.folder import open_photo_folder as open_photo_folder
from evonorm.data.photos.photo_list import Photos as Photos
from evonorm.data.photos.photo_list import stratified_split as stratified_split
from evonorm.data.photos.settings import PictureSettings as PictureSettings
