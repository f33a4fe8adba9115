"""Layers by name, formula or graph."""

import difflib
from collections.abc import Callable

from torch import nn

from evonorm.graph import CATALOG, FormulaError, Graph
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
    if isinstance(layer, str):
        layer = _parse_or_suggest(layer)
    if not isinstance(layer, Graph):
        raise TypeError(f"layer must be a name, formula text or a Graph, got {type(layer).__name__}.")
    return NormAct(layer, channels, nonlinearity, groups, eps, momentum)


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
    formula = CATALOG[name].formula
    assert formula is not None
    return NormAct(formula, channels, nonlinearity, groups, eps, momentum)


def _parse_or_suggest(text: str) -> Graph:
    """The formula's graph; where the text looks like a misspelt name, the error says so instead."""
    try:
        return Graph.parse(text)
    except FormulaError as error:
        close = difflib.get_close_matches(text.lower(), CATALOG, n=3, cutoff=0.7)
        looks_like_a_name = text.replace("-", "").replace("_", "").isalnum()
        if not close and not looks_like_a_name:
            raise
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise ValueError(
            f"there is no layer {text!r}.{hint} Known names: {', '.join(CATALOG)}."
            f" It is not a formula either: {error.problem}"
        ) from None
