"""A layer's kernels, made once for each graph: what a call finds again."""

import linecache
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from weakref import finalize

from torch import Tensor

from evonorm.graph import Graph
from evonorm.kernels.call import LayerCall, MovingMoments
from evonorm.kernels.gpu.modules import load_kernels
from evonorm.kernels.gpu.program import program_of
from evonorm.kernels.plan.values import PARAMETERS, NoInstructionError


class TritonLayer:
    """A graph's kernels, ready for Triton to compile, and what a call must bring along."""

    def __init__(self, graph: Graph, eps: float, training: bool, per_sample: frozenset[str]) -> None:
        self.graph, self.eps, self.training, self.per_sample = graph, eps, training, per_sample
        self.program = program_of(graph, eps, training, per_sample)
        self.kernels, source = load_kernels(self.program)
        finalize(self, linecache.cache.pop, source, None)  # a search makes many layers, and forgets most
        # a name -> its place among (weight, bias, v0, v1, moving ...)
        self.order = (*PARAMETERS, *(f"moving{i}" for i in range(len(graph.batch_moments))))
        self.parameters = tuple(i for i, name in enumerate(self.order) if name in self.program.pointers)
        self.verdicts: dict[Any, str | None] = {}  # what the check at first use has found, see first_use.py

    def named(self, vectors: Sequence[Tensor | None]) -> dict[str, Tensor]:
        return {name: each for name, each in zip(self.order, vectors, strict=False) if each is not None}


@lru_cache(maxsize=1024)
def layer_of(graph: Graph, eps: float, training: bool, weights: int, biases: int) -> TritonLayer | str:
    """The kernels for an affine with this many axes, 1 is (C,), 2 is (B, C); or why there are none."""
    per_sample = frozenset(name for name, axes in (("weight", weights), ("bias", biases)) if axes == 2)
    try:
        return TritonLayer(graph, eps, training, per_sample)
    except NoInstructionError as error:
        return f"there is no instruction for {error.primitive}"


def prepared_layer(call: LayerCall) -> TritonLayer | str:
    """The kernels of this call, kept with the layer."""
    training = not isinstance(call.moments, MovingMoments)
    if call.cache is None:
        return layer_of(call.graph, call.eps, training, call.weight.ndim, call.bias.ndim)
    # hashing a graph costs more than a lookup; the entry keeps it alive, so its id stays its own
    key = ("triton", id(call.graph), call.eps, training, call.weight.ndim, call.bias.ndim)
    entry = call.cache.entries.get(key)
    if entry is None:
        layer = layer_of(call.graph, call.eps, training, call.weight.ndim, call.bias.ndim)
        entry = call.cache.entries[key] = (call.graph, layer)
    found: TritonLayer | str = entry[1]
    return found
