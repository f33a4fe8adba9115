"""Where layers plug in: classifiers with one hole, `layer(channels, nonlinearity=True)`, at every norm and activation.

Read `resnet_v2.py` first, then `inverted_residual.py`, the block of `mobilenet_v2.py`, `mnasnet.py` and
`efficientnet.py`. `anchors.py` has the small nets that a search judges layers on, `create.py` makes any model by name,
`initialization.py` says how weights start. `forward_trace.py` runs a model on shapes alone; `cost.py` counts and
`drawing.py` draws from that.
"""

from evonorm.models.anchors import ANCHORS as ANCHORS
from evonorm.models.anchors import Anchor as Anchor
from evonorm.models.cost import Cost as Cost
from evonorm.models.cost import model_cost as model_cost
from evonorm.models.create import create_model as create_model
from evonorm.models.create import model_names as model_names
from evonorm.models.drawing import LEGEND as LEGEND
from evonorm.models.drawing import draw_positions as draw_positions
from evonorm.models.forward_trace import Trace as Trace
from evonorm.models.forward_trace import trace_model as trace_model
from evonorm.models.hole import LayerHole as LayerHole
