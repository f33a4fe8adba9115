"""Which modules are normalizations, and what is to be known of each."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.instancenorm import _InstanceNorm

from evonorm.conversion.activations import Counted, module_activation
from evonorm.layers import Layer

BATCH, FROZEN, INSTANCE, GROUP, LAYER, TIMM_EVONORM, OURS, UNKNOWN = (
    *("batch", "frozen batch", "instance", "group"),
    *("layer", "timm's evonorm", "ours", "unknown"),
)


@dataclass(frozen=True)
class Norm:
    """What a normalization module is.

    Attributes:
        kind: which normalization.
        channels: along axis 1 of its input.
        text: for tables.
        activation: the name of the one inside, as timm's fused layers have it.
        why_not: why it cannot be replaced, if so.
    """

    kind: str
    channels: int
    text: str
    activation: str | None = None
    why_not: str = ""


def norm_of(module: nn.Module, count: Counted) -> Norm | None:
    """What kind of normalization a module is; None for any other module."""
    kind = _kind(module)
    if kind is None:
        return None
    channels = _channels(module, kind)
    text = f"{type(module).__name__}({channels})" if channels else type(module).__name__
    if kind in (OURS, UNKNOWN) or not channels:
        why = "a layer of evonorm already" if kind == OURS else "this normalization is not known here"
        return Norm(kind, channels, text, why_not=why)
    if kind == LAYER and not type(module).__name__.lower().rstrip("fp32").endswith("2d"):
        return Norm(
            kind, channels, text, why_not="it normalizes the last axis, where our layers have channels at axis 1"
        )
    return _with_what_is_inside(module, Norm(kind, channels, text), count)


def _with_what_is_inside(module: nn.Module, norm: Norm, count: Counted) -> Norm:
    """Adds the activation of a fused layer; one that does not count, or a dropout, keeps the layer from conversion."""
    if norm.kind == TIMM_EVONORM:
        applied = bool(getattr(module, "apply_act", True))
        return Norm(norm.kind, norm.channels, norm.text, "evonorm" if applied else None)
    drop, act = getattr(module, "drop", None), inner_activation(module)
    if isinstance(drop, nn.Module) and not isinstance(drop, nn.Identity):
        return Norm(norm.kind, norm.channels, norm.text, why_not=f"it has {type(drop).__name__} inside")
    if act is None:
        return norm
    name = module_activation(act, count)
    why = "" if name else f"the activation inside, {type(act).__name__}, is none of those that count"
    return Norm(norm.kind, norm.channels, norm.text, name, why)


def inner_activation(module: nn.Module) -> nn.Module | None:
    """What timm's fused layers call `act` and Hugging Face's `activation`."""
    for name in ("act", "activation"):
        inside = getattr(module, name, None)
        if isinstance(inside, nn.Module) and not isinstance(inside, nn.Identity):
            return inside
    return None


def is_what_it_seems(module: Any, norm: Norm, x: Tensor, output: Tensor) -> bool | None:
    """Whether a normalization gives what its kind, its parameters and the activation inside say.

    A class that inherits from torch's may do more in its forward, and a new layer would lose that. It can be told in
    evaluation only: None in training.
    """
    if norm.why_not or norm.kind == TIMM_EVONORM or type(module).forward in _TORCHS_FORWARDS:
        return True
    if module.training:
        return None
    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    if norm.kind in (BATCH, FROZEN):
        mean, var = module.running_mean, module.running_var
        expected = F.batch_norm(x, mean, var, weight, bias, mean is None, 0.0, module.eps)
    elif norm.kind == GROUP:
        expected = F.group_norm(x, module.num_groups, weight, bias, module.eps)
    elif norm.kind == INSTANCE:
        expected = F.instance_norm(x, module.running_mean, module.running_var, weight, bias, eps=module.eps)
    else:
        expected = F.layer_norm(x.movedim(1, -1), (norm.channels,), weight, bias, module.eps).movedim(-1, 1)
    act = inner_activation(module)
    expected = expected if act is None else act(expected)
    return expected.shape == output.shape and torch.allclose(expected, output, rtol=1e-3, atol=1e-4, equal_nan=True)


_TORCHS_FORWARDS = tuple(
    cls.forward for cls in (nn.BatchNorm2d, nn.SyncBatchNorm, nn.InstanceNorm2d, nn.GroupNorm, nn.LayerNorm)
)


def _kind(module: nn.Module) -> str | None:
    name, home = type(module).__name__, type(module).__module__
    for classes, kind in (
        (Layer, OURS),
        (_InstanceNorm, INSTANCE),
        (_NormBase, BATCH),
        (nn.GroupNorm, GROUP),
        (nn.LayerNorm, LAYER),
    ):
        if isinstance(module, classes):
            return kind
    if home == "timm.layers.evo_norm":
        return TIMM_EVONORM
    parts = {key for key, _ in module.named_buffers(recurse=False)} | {
        key for key, _ in module.named_parameters(recurse=False)
    }
    if "batchnorm" in name.lower() and {"weight", "bias", "running_mean", "running_var"} <= parts:
        return FROZEN
    looks_like_one = name.lower().rstrip("0123456789d").endswith(("norm", "normact", "normalization"))
    return UNKNOWN if looks_like_one and parts else None


def _channels(module: Any, kind: str) -> int:
    """C, from the name that each class has for it."""
    if kind == LAYER:
        return int(module.normalized_shape[0]) if len(module.normalized_shape) == 1 else 0
    for name in ("num_features", "num_channels"):
        if isinstance(getattr(module, name, None), int):
            return int(getattr(module, name))
    weight = getattr(module, "weight", None)
    return weight.numel() if isinstance(weight, Tensor) and weight.ndim >= 1 else 0
