"""Layers that were exported as source, in a process where evonorm is installed: they run on our kernels."""

from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from evonorm.graph import FormulaError, Graph
from evonorm.kernels import THIS_BATCH, KernelCache, LayerCall, Moments, MovingMoments, run_layer
from evonorm.layers.conventions import check_input
from evonorm.layers.norm_act import AFFINE_ONLY, moving_names

_caches: "WeakKeyDictionary[nn.Module, KernelCache]" = WeakKeyDictionary()


def run_exported(layer: Any, x: Tensor) -> Tensor | None:
    """What the exported layer says of x, its moving moments moved along; None if we cannot read its formula.

    That is the case where it uses a primitive of a plug-in that is not installed here.
    """
    graph = _graph_of(layer.evonorm_formula) if layer.nonlinearity else AFFINE_ONLY
    if graph is None:
        return None
    check_input(x, layer.weight.shape[0])
    names = moving_names(graph)
    moments: Moments = THIS_BATCH
    if names and not layer.training:
        moments = MovingMoments(tuple(layer.get_buffer(name) for name in names))
    v0, v1 = (getattr(layer, name) if graph.reads(name) else None for name in ("v0", "v1"))
    cache = _caches.setdefault(layer, KernelCache())
    call = LayerCall(graph, x, layer.weight, layer.bias, v0, v1, layer.groups, layer.eps, moments, cache)
    y, found = run_layer(call)
    if found and x.shape[0] > 0:
        for name, new in zip(names, found, strict=True):
            old = layer.get_buffer(name)
            old.lerp_(new.detach().to(old.dtype), layer.momentum)
    return y


@lru_cache(maxsize=256)
def _graph_of(formula: str) -> Graph | None:
    try:
        return Graph.parse(formula)
    except FormulaError:
        return None
