"""The one hole that every model has: where a normalization and the activation behind it would be."""

from collections.abc import Callable
from typing import Protocol

from torch import nn

from evonorm.graph import Graph, graph_of
from evonorm.layers import create_layer, layer_names


class LayerHole(Protocol):
    """Makes the layer for one position of a model.

    With `nonlinearity=False` the position has a normalization without an activation (behind a linear bottleneck).
    """

    def __call__(self, channels: int, nonlinearity: bool = True) -> nn.Module: ...


ModelBuilder = Callable[[LayerHole, int, float], nn.Module]
"""Makes a model from (layer, num_classes, width)."""


def fill_hole(layer: str | Graph | LayerHole, groups: int) -> LayerHole:
    """What puts `layer` (a name, formula text, a Graph or a callable) into a model's positions."""
    if isinstance(layer, str) and layer not in layer_names():
        layer = graph_of(layer)  # read once and not at each of a model's fifty positions
    if isinstance(layer, (str, Graph)):
        chosen = layer
        return lambda channels, nonlinearity=True: create_layer(chosen, channels, nonlinearity, groups)
    if not callable(layer):
        raise TypeError(
            "layer must be a name, formula text, a Graph or a callable (channels, nonlinearity=True) -> nn.Module,"
            f" got {type(layer).__name__}."
        )
    return _checked(layer)


def _checked(layer: LayerHole) -> LayerHole:
    def make(channels: int, nonlinearity: bool = True) -> nn.Module:
        module = layer(channels, nonlinearity=nonlinearity)
        if not isinstance(module, nn.Module):
            raise TypeError(f"the layer callable must return an nn.Module, got {type(module).__name__}.")
        return module

    return make
