"""Layers by name, formula or graph."""

import math
from collections.abc import Callable
from typing import Protocol, SupportsIndex

import torch
from torch import nn

from evonorm.foundation import Register, check_plain_name
from evonorm.graph import CATALOG, Entry, Graph, catalog_spelling, graph_of
from evonorm.layers.baselines import BatchNormAct, FilterResponseNorm, GroupNormAct, PixelNormReLU
from evonorm.layers.conventions import check_settings, largest_divisor, whole_number
from evonorm.layers.evonorms import EVONORMS
from evonorm.layers.norm_act import NormAct


class LayerBuilder(Protocol):
    """Makes a named layer; the arguments are those of `create_layer`, checked."""

    def __call__(
        self, channels: int, nonlinearity: bool, groups: int, eps: float, momentum: float | None
    ) -> nn.Module: ...


def _batch_norm(activation: str) -> LayerBuilder:
    return lambda channels, nonlinearity, groups, eps, momentum: BatchNormAct(  # noqa: ARG005
        channels, activation if nonlinearity else None, eps, momentum
    )


def _group_norm(activation: str, most_groups: float = math.inf) -> LayerBuilder:
    return lambda channels, nonlinearity, groups, eps, momentum: GroupNormAct(  # noqa: ARG005
        channels, largest_divisor(channels, int(min(groups, most_groups))), activation if nonlinearity else None, eps
    )


def _without_groups(build: Callable[[int, bool, float], nn.Module]) -> LayerBuilder:
    return lambda channels, nonlinearity, groups, eps, momentum: build(channels, nonlinearity, eps)  # noqa: ARG005


# Every other layer of the catalog is `NormAct` with its formula.
BUILDERS: Register[LayerBuilder] = Register(
    "builder of the layer",
    {
        "bn-relu": _batch_norm("relu"),
        "bn-silu": _batch_norm("silu"),
        "gn-relu": _group_norm("relu"),
        "gn-silu": _group_norm("silu"),
        "ln-relu": _group_norm("relu", most_groups=1),
        "frn": _without_groups(FilterResponseNorm),
        "pixelnorm-relu": _without_groups(PixelNormReLU),
        **{each.name: each for each in EVONORMS},
    },
)


def register_layer(
    name: str,
    formula: str | None = None,
    build: LayerBuilder | None = None,
    *,
    normalization: str | None = None,
    source: str = "",
) -> Entry:
    """Adds a layer that `create_layer`, models, recipes and the command line then know by name.

    Arguments:
        name: such as `swish-norm`, with which no other layer is called.
        formula: the layer as text. Without one it can be made and trained, but not drawn, counted or searched from.
        build: (channels, nonlinearity, groups, eps, momentum) -> module. By default `NormAct` with the formula.
        normalization: for a layer with gamma and beta between normalization and activation, the formula of the former;
            such a layer needs `build`.
        source: where it comes from, for listings.

    Raises ValueError for a name that is taken or cannot be typed, for neither formula nor `build`, and FormulaError
    for text that is no formula.

    Example:
        evonorm.register_layer("swish-rms", "x * sigmoid(x) / rms_whc(x)")
        evonorm.create_layer("swish-rms", channels=64)
    """
    check_plain_name(name, "layer")
    if formula is None and build is None:
        raise ValueError(f"the layer {name} needs a formula or a function that builds it.")
    if normalization is not None and build is None:
        raise ValueError(f"the layer {name} has its affine behind the normalization: give the function that builds it.")
    for text in (formula, normalization):
        if text is not None:
            Graph.parse(text)
    entry = CATALOG.add(name, Entry(name, formula, source, normalization))
    if build is not None:
        BUILDERS.add(name, build)
    return entry


def layer_names() -> list[str]:
    """Every name that `create_layer` knows, in the order of the catalog.

    Example: layers = {name: evonorm.create_layer(name, channels=64) for name in evonorm.layer_names()}
    """
    return list(CATALOG)


def create_layer(
    layer: str | Graph,
    channels: SupportsIndex,
    nonlinearity: bool = True,
    groups: SupportsIndex = 32,
    eps: float = 1e-5,
    momentum: float | None = 0.1,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> nn.Module:
    """A layer to put where a model has a normalization and the activation behind it.

    Arguments:
        layer: a name of `layer_names()` in any case, formula text such as "x / std_bwh(x)", or a Graph.
        channels: C of the inputs (N, C, *spatial).
        nonlinearity: False where the model has no activation: plain affine for EvoNorms and graphs; the normalization
            without the activation for BN, GN, LN, FRN and PixelNorm.
        groups, eps, momentum, device, dtype: as in `NormAct`.

    Raises ValueError for an unknown name (it says which is close), a formula that cannot be read or impossible
    arguments, TypeError for anything else than text or a Graph.

    Example: layer = evonorm.create_layer("evonorm-b0", channels=64)
    """
    check_settings(eps, momentum)
    settings = (whole_number("channels", channels), nonlinearity, whole_number("groups", groups), eps, momentum)
    layer = catalog_spelling(layer) if isinstance(layer, str) else layer
    if isinstance(layer, str) and layer in CATALOG and layer in BUILDERS:
        built = BUILDERS[layer](*settings)
        return built if device is None and dtype is None else built.to(device=device, dtype=dtype)
    return NormAct(graph_of(layer), *settings, device, dtype)
