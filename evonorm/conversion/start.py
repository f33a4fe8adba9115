"""The new layer for a position, and what it takes over from the normalization that it replaces.

The same normalization is taken over whole: parameters, moving moments, eps, momentum, groups. Where the new layer is
only an affine, the moving moments of a BatchNorm are folded into it, so that the function in evaluation stays. Any
other layer starts fresh: gamma and beta of a BatchNorm mean something else to an EvoNorm, a worse start than 1 and 0.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from evonorm.conversion.norms import BATCH, FROZEN, GROUP, TIMM_EVONORM, Norm
from evonorm.graph import Graph
from evonorm.layers import BatchNormAct, GroupNormAct, NormAct, create_layer, freeze_moments

LayerChoice = str | Graph | Callable[[int, bool], nn.Module]
"""A name, a formula, a Graph, or a function (channels, nonlinearity) -> module."""


def new_layer(layer: LayerChoice, groups: int, norm: Norm, old: Any, nonlinearity: bool) -> nn.Module:
    """The module for the place of `old`, on its device and with its dtype, with what can be taken over."""
    new = layer(norm.channels, nonlinearity) if callable(layer) else _created(layer, groups, norm, old, nonlinearity)
    with torch.no_grad():
        take_over(old, norm, new)
    like = next((each for each in (*old.parameters(), *old.buffers()) if each.is_floating_point()), None)
    return (new if like is None else new.to(like.device, like.dtype)).train(old.training)


def _created(layer: str | Graph, groups: int, norm: Norm, old: Any, nonlinearity: bool) -> nn.Module:
    settings: dict[str, Any] = {"groups": groups}
    if norm.kind == GROUP:
        settings["groups"] = old.num_groups
    if norm.kind == BATCH:
        settings["momentum"] = old.momentum
    if norm.kind == TIMM_EVONORM:
        settings |= {"groups": getattr(old, "groups", groups) or groups, "eps": old.eps}
    new = create_layer(layer, norm.channels, nonlinearity, **settings)
    if isinstance(new, BatchNormAct) and norm.kind in (BATCH, FROZEN):
        new.epsilon = old.eps
    if isinstance(new, GroupNormAct) and norm.kind == GROUP:
        new.eps = old.eps
    return new


def take_over(old: Any, norm: Norm, new: nn.Module) -> None:
    if isinstance(new, BatchNormAct) and norm.kind in (BATCH, FROZEN):
        _take_batch_norm(old, norm, new)
    elif isinstance(new, GroupNormAct) and norm.kind == GROUP and new.groups == old.num_groups:
        _take_affine(old, new)
    elif isinstance(new, NormAct) and not new.nonlinearity:
        _take_affine(old, new)
        if norm.kind in (BATCH, FROZEN) and old.running_var is not None:
            _fold_moments(old, new)
    elif isinstance(new, NormAct) and norm.kind == TIMM_EVONORM and _is_its_twin(old, new):
        new.load_state_dict({"v1" if key == "v" else key: value for key, value in old.state_dict().items()})


def _take_batch_norm(old: Any, norm: Norm, new: BatchNormAct) -> None:
    if old.running_var is None:
        raise ValueError(
            f"{norm.text} keeps no moving moments (track_running_stats=False), and our BatchNorm does: the model would"
            " say something else in evaluation. Convert to a layer without batch moments, or leave it out with `only=`."
        )
    _take_affine(old, new)
    new.running_mean.copy_(old.running_mean)
    new.running_var.copy_(old.running_var)
    if getattr(old, "num_batches_tracked", None) is not None:
        new.num_batches_tracked.copy_(old.num_batches_tracked)
    if norm.kind == FROZEN:
        freeze_moments(new)


def _take_affine(old: Any, new: Any) -> None:
    """gamma and beta, and whether they are trained; a normalization without them has 1 and 0, which stay."""
    for name in ("weight", "bias"):
        theirs = getattr(old, name, None)
        if isinstance(theirs, Tensor):
            getattr(new, name).copy_(theirs)
        new_one = theirs is None and isinstance(new, NormAct)
        getattr(new, name).requires_grad_(theirs.requires_grad if isinstance(theirs, nn.Parameter) else new_one)


def _fold_moments(old: Any, new: Any) -> None:
    """(x - mean) / std * gamma + beta as x * weight + bias. In training, what is folded in is trained."""
    scale = torch.rsqrt(old.running_var + old.eps)
    new.bias.sub_(old.running_mean * scale * new.weight)
    new.weight.mul_(scale)


def _is_its_twin(old: nn.Module, new: NormAct) -> bool:
    """timm's EvoNorm2dS0 and our evonorm-s0."""
    return f"evonorm-{type(old).__name__.removeprefix('EvoNorm2d').lower()}" == getattr(new, "name", None)
