"""Where layers plug in: classifiers with one hole, `layer(channels, nonlinearity=True)`, at every norm and activation.

Read `resnet_v2.py` first, then `inverted_residual.py`, the block of `mobilenet_v2.py`, `mnasnet.py` and
`efficientnet.py`. `anchors.py` has the small nets that a search judges layers on, `create.py` makes any model by name,
`initialization.py` says how weights start.
"""

from evonorm.models.anchors import ANCHORS as ANCHORS
from evonorm.models.anchors import Anchor as Anchor
from evonorm.models.create import create_model as create_model
from evonorm.models.create import model_names as model_names
from evonorm.models.hole import LayerHole as LayerHole
