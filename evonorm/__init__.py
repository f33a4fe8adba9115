"""evonorm: search, train and ship normalization-activation layers.

layer = evonorm.create_layer("evonorm-b0", channels=64)   # in place of BatchNorm2d(64) and ReLU
graph = evonorm.Graph.parse("x * sigmoid(x) / rms_whcg(x)")
model = evonorm.create_model("resnet50-cifar", layer="evonorm-b0", num_classes=10)

The language of graphs is loaded at once; everything that needs torch when it is first asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

from evonorm.graph import FormulaError as FormulaError
from evonorm.graph import Graph as Graph
from evonorm.graph import Node as Node
from evonorm.graph import graph_of as graph_of
from evonorm.graph import mutate as mutate
from evonorm.graph import register_index_set as register_index_set
from evonorm.graph import register_primitive as register_primitive
from evonorm.graph import sample_graph as sample_graph
from evonorm.graph import simplify as simplify

if TYPE_CHECKING:
    from evonorm.conversion import convert as convert
    from evonorm.conversion import fold as fold
    from evonorm.conversion import imitate as imitate
    from evonorm.conversion import positions as positions
    from evonorm.conversion import register_in_timm as register_in_timm
    from evonorm.conversion import timm_norm_act as timm_norm_act
    from evonorm.data import register_data as register_data
    from evonorm.layers import EvoNormB0 as EvoNormB0
    from evonorm.layers import EvoNormB1 as EvoNormB1
    from evonorm.layers import EvoNormB2 as EvoNormB2
    from evonorm.layers import EvoNormS0 as EvoNormS0
    from evonorm.layers import EvoNormS1 as EvoNormS1
    from evonorm.layers import EvoNormS2 as EvoNormS2
    from evonorm.layers import LazyNormAct as LazyNormAct
    from evonorm.layers import NormAct as NormAct
    from evonorm.layers import create_layer as create_layer
    from evonorm.layers import freeze_moments as freeze_moments
    from evonorm.layers import layer_names as layer_names
    from evonorm.layers import no_weight_decay as no_weight_decay
    from evonorm.layers import register_layer as register_layer
    from evonorm.layers import sync_moments as sync_moments
    from evonorm.layers import update_moments as update_moments
    from evonorm.models import create_model as create_model
    from evonorm.models import model_names as model_names
    from evonorm.models import register_anchor as register_anchor
    from evonorm.models import register_model as register_model
    from evonorm.report import Run as Run
    from evonorm.runner import LayerSearch as LayerSearch
    from evonorm.runner import LayerTrial as LayerTrial
    from evonorm.runner import find_layers as find_layers
    from evonorm.training import register_task as register_task

__version__ = "0.2.0"

_ROOMS = {
    "layers": (
        *("EvoNormB0", "EvoNormB1", "EvoNormB2", "EvoNormS0", "EvoNormS1", "EvoNormS2"),
        *("NormAct", "create_layer", "freeze_moments", "layer_names", "no_weight_decay", "register_layer"),
        *("LazyNormAct", "sync_moments", "update_moments"),
    ),
    "conversion": ("convert", "fold", "imitate", "positions", "register_in_timm", "timm_norm_act"),
    "data": ("register_data",),
    "models": ("create_model", "model_names", "register_anchor", "register_model"),
    "report": ("Run",),
    "runner": ("LayerSearch", "LayerTrial", "find_layers"),
    "training": ("register_task",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = [
    *("FormulaError", "Graph", "Node", "graph_of", "mutate", "register_index_set", "register_primitive"),
    *("sample_graph", "simplify"),
    *_ROOM_OF,
]


def __getattr__(name: str) -> Any:
    """What a room offers under our own name, its room loaded now."""
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'evonorm' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"evonorm.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _shown_in_a_notebook(graph: Graph) -> str:
    """The typeset formula and the drawing; the graph's own room knows no pictures."""
    from evonorm.pictures import graph_html

    return graph_html(graph)


Graph._repr_html_ = _shown_in_a_notebook  # type: ignore[attr-defined]
