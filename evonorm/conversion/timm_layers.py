"""Layers for timm's models: as `norm_layer=`, and by name."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from evonorm.foundation import needs
from evonorm.graph import Graph
from evonorm.layers import create_layer, layer_names


def timm_norm_act(layer: str | Graph, groups: int = 32) -> Callable[..., nn.Module]:
    """A layer as timm's models with fused layers want it: `timm.create_model(name, norm_layer=timm_norm_act(layer))`.

    For models with `norm_act` layers, such as resnetv2, efficientnet, regnetz, densenet, vovnet. Models that have
    normalization and activation apart, such as resnet50, keep their activations: build them as they are, then
    `convert`.

    The function has the arguments that timm's models give: `act_layer`, `act_kwargs` and `inplace` are without effect,
    since the layer is its own activation.

    Arguments:
        layer: a name, a formula or a Graph as in `create_layer`.
        groups: of channels, for layers with moments over groups.

    Example: timm.create_model("test_efficientnet", norm_layer=evonorm.timm_norm_act("evonorm-s0"))
    """

    def norm_act(
        num_features: int,
        apply_act: bool = True,
        act_layer: Any = None,  # noqa: ARG001
        act_kwargs: Any = None,  # noqa: ARG001
        inplace: bool | None = None,  # noqa: ARG001
        drop_layer: Any = None,
        eps: float = 1e-5,
        momentum: float = 0.1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> nn.Module:
        if drop_layer is not None:
            raise ValueError("our layers have no dropout inside. Build the model without drop_block_rate.")
        return create_layer(layer, num_features, apply_act, groups, eps, momentum, device, dtype)

    return norm_act


def register_in_timm() -> list[str]:
    """Makes timm know our layers by name, with dots for dashes: `timm.create_model(name, norm_layer="evonorm.s0")`.

    timm has layers of its own, such as `evonorms0` and `frn`; they stay what they are. Returns the new names.

    Example:
        evonorm.register_in_timm()
        model = timm.create_model("test_efficientnet", norm_layer="evonorm.b0")
    """
    with needs("vision", "register_in_timm"):
        from timm.layers import create_norm_act

    known: dict[str, Any] = create_norm_act._NORM_ACT_MAP  # timm has no public way to add a name
    ours = {name.replace("-", "."): timm_norm_act(name) for name in layer_names() if "-" in name}
    known.update(ours)
    return list(ours)
