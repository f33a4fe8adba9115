"""Where layers plug in: models with one hole, `layer(channels, nonlinearity=True)`, at every norm and activation.

`classify/` has the classifiers and the anchors of a search, `detect/` the detectors, `gan/` generators with their
discriminators. `create.py` makes any model by name, `hole.py` fills its positions; `convolution.py` and
`initialization.py` are what several of them share. `forward_trace.py` runs a model on shapes alone; `cost.py`, with
`layer_cost.py` for the layers and `tensorflow_cost.py` for the paper's way of counting detectors, counts and
`drawing.py` draws from that.
"""

from evonorm.models.classify.anchors import ANCHORS as ANCHORS
from evonorm.models.classify.anchors import Anchor as Anchor
from evonorm.models.cost import Cost as Cost
from evonorm.models.cost import model_cost as model_cost
from evonorm.models.create import create_model as create_model
from evonorm.models.create import find_model as find_model
from evonorm.models.create import model_names as model_names
from evonorm.models.create import register_anchor as register_anchor
from evonorm.models.create import register_model as register_model
from evonorm.models.detect.mask_rcnn import Detections as Detections
from evonorm.models.detect.mask_rcnn import MaskRCNN as MaskRCNN
from evonorm.models.detect.settings import DetectorSettings as DetectorSettings
from evonorm.models.detect.variants import COCO_CLASSES as COCO_CLASSES
from evonorm.models.detect.variants import create_detector as create_detector
from evonorm.models.drawing import LEGEND as LEGEND
from evonorm.models.drawing import draw_positions as draw_positions
from evonorm.models.forward_trace import Trace as Trace
from evonorm.models.forward_trace import trace_model as trace_model
from evonorm.models.gan.biggan_deep import BigGANDeep as BigGANDeep
from evonorm.models.gan.discriminator import Discriminator as Discriminator
from evonorm.models.gan.generator import LATENT as LATENT
from evonorm.models.gan.generator import Generator as Generator
from evonorm.models.gan.spectral_norm import singular_values as singular_values
from evonorm.models.hole import LayerHole as LayerHole
