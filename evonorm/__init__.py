"""evonorm: search, train and ship normalization-activation layers.

layer = evonorm.create_layer("evonorm-b0", channels=64)   # in place of BatchNorm2d(64) and ReLU
graph = evonorm.Graph.parse("x * sigmoid(x) / rms_whcg(x)")
model = evonorm.create_model("resnet50-cifar", layer="evonorm-b0", num_classes=10)
"""

from evonorm.graph import FormulaError as FormulaError
from evonorm.graph import Graph as Graph
from evonorm.graph import Node as Node
from evonorm.graph import mutate as mutate
from evonorm.graph import sample_graph as sample_graph
from evonorm.graph import simplify as simplify
from evonorm.layers import EvoNormB0 as EvoNormB0
from evonorm.layers import EvoNormB1 as EvoNormB1
from evonorm.layers import EvoNormB2 as EvoNormB2
from evonorm.layers import EvoNormS0 as EvoNormS0
from evonorm.layers import EvoNormS1 as EvoNormS1
from evonorm.layers import EvoNormS2 as EvoNormS2
from evonorm.layers import NormAct as NormAct
from evonorm.layers import create_layer as create_layer
from evonorm.layers import layer_names as layer_names
from evonorm.layers import no_weight_decay as no_weight_decay
from evonorm.models import create_model as create_model
from evonorm.models import model_names as model_names
from evonorm.report import Run as Run

__version__ = "0.1.0"
