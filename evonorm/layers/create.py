"""Layers by name, formula or graph."""

from collections.abc import Callable

from torch import nn

from evonorm.graph import CATALOG, Graph, graph_of
from evonorm.layers import evonorms
from evonorm.layers.baselines import BatchNormAct, FilterResponseNorm, GroupNormAct, PixelNormReLU
from evonorm.layers.norm_act import NormAct, check_settings, largest_divisor

EVONORM_CLASSES = {
    each.name: each
    for each in (
        evonorms.EvoNormB0,
        evonorms.EvoNormB1,
        evonorms.EvoNormB2,
        evonorms.EvoNormS0,
        evonorms.EvoNormS1,
        evonorms.EvoNormS2,
    )
}


def layer_names() -> list[str]:
    """Every name that `create_layer` knows, in the order of the catalog."""
    return list(CATALOG)


def create_layer(
    layer: str | Graph,
    channels: int,
    nonlinearity: bool = True,
    groups: int = 32,
    eps: float = 1e-5,
    momentum: float | None = 0.1,
) -> nn.Module:
    """A layer to put where a model has a normalization and the activation behind it.

    Arguments:
        layer: a name of `layer_names()`, formula text such as "x / std_bwh(x)", or a Graph.
        channels: C of the inputs (N, C, *spatial).
        nonlinearity: False where the model has no activation: plain affine for EvoNorms and graphs; the normalization
            without the activation for BN, GN, LN, FRN and PixelNorm.
        groups, eps, momentum: as in `NormAct`.
    """
    check_settings(channels, groups, eps, momentum)
    if isinstance(layer, str) and layer in CATALOG:
        return _named_layer(layer, channels, nonlinearity, groups, eps, momentum)
    return NormAct(graph_of(layer), channels, nonlinearity, groups, eps, momentum)


def _named_layer(
    name: str, channels: int, nonlinearity: bool, groups: int, eps: float, momentum: float | None
) -> nn.Module:
    relu = "relu" if nonlinearity else None
    silu = "silu" if nonlinearity else None
    divisor = largest_divisor(channels, groups)
    baselines: dict[str, Callable[[], nn.Module]] = {
        "bn-relu": lambda: BatchNormAct(channels, relu, eps, momentum),
        "bn-silu": lambda: BatchNormAct(channels, silu, eps, momentum),
        "gn-relu": lambda: GroupNormAct(channels, divisor, relu, eps),
        "gn-silu": lambda: GroupNormAct(channels, divisor, silu, eps),
        "ln-relu": lambda: GroupNormAct(channels, 1, relu, eps),
        "frn": lambda: FilterResponseNorm(channels, nonlinearity, eps),
        "pixelnorm-relu": lambda: PixelNormReLU(channels, nonlinearity, eps),
    }
    if name in baselines:
        return baselines[name]()
    if name in EVONORM_CLASSES:
        return EVONORM_CLASSES[name](channels, nonlinearity, groups, eps, momentum)
    return NormAct(graph_of(name), channels, nonlinearity, groups, eps, momentum)
