"""Any layer, class-conditional: gain and bias of each sample come from what it is conditioned on (BigGAN).

The gain is 1 + a projection. Without the 1 it starts around zero, which cost others a year of failed runs. EvoNorms and
graphs get both behind the graph, BN, GN, LN and PixelNorm with ReLU before the ReLU; v1 is one number per channel for
all classes.
"""

import inspect

from torch import Tensor, nn

from evonorm.models.gan.spectral_norm import SpectralLinear
from evonorm.models.hole import LayerHole


class ConditionalLayer(nn.Module):
    """A layer with a gain and a bias per sample in place of its own gamma and beta, which are no parameters here.

    Arguments:
        hole: makes the layer. It must take gamma and beta of a call, as every layer of `create_layer` does.
        channels: of the maps.
        condition: how many numbers a sample is conditioned on.

    Raises TypeError for a layer whose forward takes no `weight` and `bias`.
    """

    def __init__(self, hole: LayerHole, channels: int, condition: int) -> None:
        super().__init__()
        self.layer = without_own_affine(hole(channels))
        self.gain = SpectralLinear(condition, channels, bias=False)
        self.shift = SpectralLinear(condition, channels, bias=False)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        y: Tensor = self.layer(x, weight=1 + self.gain(condition), bias=self.shift(condition))
        return y


def without_own_affine(layer: nn.Module) -> nn.Module:
    """The layer without gamma and beta of its own; every call has to bring them."""
    takes = inspect.signature(layer.forward).parameters
    if not {"weight", "bias"} <= set(takes):
        raise TypeError(
            "a conditional position needs a layer that takes gain and bias per sample, layer(x, weight=..., bias=...);"
            f" {type(layer).__name__}.forward takes ({', '.join(takes)}). Use a name, a formula or a Graph, or a module"
            " with such a forward."
        )
    for name in ("weight", "bias"):
        if isinstance(getattr(layer, name, None), nn.Parameter):
            layer.register_parameter(name, None)
    return layer
