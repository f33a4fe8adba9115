"""A layer that learns its number of channels from the first input, as torch's lazy modules do."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import parameter as lazy
from torch.nn.modules.lazy import LazyModuleMixin

from evonorm.graph import Graph, graph_of
from evonorm.layers.conventions import largest_divisor
from evonorm.layers.norm_act import NormAct

LATER: Any = lazy  # its stubs leave the arguments out


class LazyNormAct(LazyModuleMixin, NormAct):
    """A `NormAct` without `channels`: the first input tells them. From then on it is a plain `NormAct`.

    Arguments:
        layer: a name of a layer that is one formula, formula text, or a Graph.
        nonlinearity, groups, eps, momentum, device, dtype: as in `NormAct`.

    Example: y = evonorm.LazyNormAct("evonorm-s0")(torch.randn(2, 64, 8, 8))
    """

    cls_to_become = NormAct

    def __init__(
        self,
        layer: str | Graph,
        nonlinearity: bool = True,
        groups: int = 32,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(graph_of(layer), groups, nonlinearity, groups, eps, momentum, device, dtype)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = LATER.UninitializedParameter(device=parameter.device, dtype=parameter.dtype)
        for name in self.moving_names:
            moving = self.get_buffer(name)
            self._buffers[name] = LATER.UninitializedBuffer(device=moving.device, dtype=moving.dtype)

    def initialize_parameters(self, x: Tensor, *_: object) -> None:
        """Called by torch before the first forward. Parameters that a checkpoint has filled stay."""
        self.channels = x.shape[1]
        self.groups = largest_divisor(self.channels, self.groups)
        if self.has_uninitialized_params():
            empty: list[Any] = [*self.parameters(), *(self.get_buffer(name) for name in self.moving_names)]
            for each in empty:
                each.materialize((self.channels,))
            self.reset_parameters()
