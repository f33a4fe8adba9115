"""What every layer is to the code around it: torch's names, devices, dtypes, checks, and one box for `torch.fx`."""

import operator
import sys
import warnings
from types import FrameType
from typing import Any, SupportsIndex

import torch
from torch import Tensor, distributed, nn
from torch.fx import Proxy

from evonorm.kernels import THIS_BATCH, BatchMoments, KernelCache, SyncedMoments

FIRST_VALUES = {"weight": 1.0, "bias": 0.0, "v0": 0.0, "v1": 1.0}


class Layer(nn.Module):
    """Parameters of shape (C,) at their first values: `weight` (gamma), `bias` (beta) and, if asked for, `v0` and `v1`.

    None of our layers inherits from torch's normalizations, also where it computes one: `convert_sync_batchnorm`,
    `fuse_conv_bn_eval` and their kind rebuild what they know by its class, and would lose the activation.
    """

    weight: nn.Parameter
    bias: nn.Parameter
    v0: nn.Parameter | None
    v1: nn.Parameter | None
    affine = True  # as torch's BatchNorm says of itself
    synced: SyncedMoments | None = None  # set by `sync_moments`

    def __init__(
        self,
        channels: SupportsIndex,
        v0: bool = False,
        v1: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.channels = whole_number("channels", channels)
        self.kernel_cache = KernelCache()
        for name, wanted in (("weight", True), ("bias", True), ("v0", v0), ("v1", v1)):
            vector = torch.full((self.channels,), FIRST_VALUES[name], device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if vector is None else nn.Parameter(vector))

    @property
    def num_features(self) -> int:
        """The channels, by the name that BatchNorm has for them."""
        return self.channels

    def training_moments(self) -> BatchMoments | SyncedMoments:
        """Where moments over the batch come from in training: this batch, or those of all ranks where there are any."""
        if self.synced is None or not has_other_ranks(self.synced.group):
            return THIS_BATCH
        return SyncedMoments(self.synced.group, [])

    def reset_parameters(self) -> None:
        """Parameters, and moving moments where there are any, as in a new layer; for instance after `to_empty`."""
        with torch.no_grad():
            for name, parameter in self.named_parameters(recurse=False):
                parameter.fill_(FIRST_VALUES[name])


def has_other_ranks(group: "distributed.ProcessGroup | None") -> bool:
    """Whether this process is in the group, and not alone."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size(group) > 1


def as_one_node(layer: nn.Module, x: Proxy, weight: object, bias: object) -> Proxy:
    """The layer as `torch.fx` shall see it, in every tracer: one call of a module, never its inside."""
    given = {name: each for name, each in (("weight", weight), ("bias", bias)) if each is not None}
    tracer: Any = x.tracer
    return tracer.create_proxy("call_module", tracer.path_of_module(layer), (x,), given)


def warn_where_activations_stay() -> None:
    """Warns if torchvision or timm makes a layer as its `norm_layer` of a model that has activations of its own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("evonorm."):
        frame = frame.f_back
    library = frame.f_globals.get("__name__", "") if frame is not None else ""
    if frame is None or not library.startswith(("torchvision.", "timm.")):
        return
    if not library.startswith("timm.") or "get_norm_act_layer" not in frame.f_globals:
        warnings.warn(
            f"{library} takes this for a plain normalization and has activations of its own; the layer has one already."
            ' Build the model as it is, then call evonorm.convert(model, "evonorm-s0"): it takes the activations out.',
            stacklevel=3,
        )


def whole_number(name: str, value: SupportsIndex) -> int:
    """A Python int of at least 1, also from numpy's and torch's."""
    try:
        number = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return number


def check_settings(eps: float, momentum: float | None = None) -> None:
    if not eps >= 0:
        raise ValueError(f"eps must not be negative, got {eps!r}.")
    if momentum is not None and not 0 <= momentum <= 1:
        raise ValueError(f"momentum must lie in 0 to 1, or be None for a cumulative average, got {momentum!r}.")


def check_input(x: Tensor, channels: int) -> None:
    if x.layout is not torch.strided or x.is_nested:
        kind = "a nested tensor" if x.is_nested else f"one of layout {x.layout}"
        raise TypeError(f"expected a dense tensor, got {kind}. Convert it with x.to_padded_tensor or x.to_dense.")
    if not 2 <= x.ndim <= 5:
        raise ValueError(
            "expected an input (batch, channels, *spatial) with zero to three spatial axes, got shape"
            f" {tuple(x.shape)}. Add a batch axis with x.unsqueeze(0) if there is none."
        )
    if x.shape[1] != channels:
        raise ValueError(
            f"input has {x.shape[1]} channels, the layer was made for {channels}. Make it with channels={x.shape[1]}."
        )
    if not x.is_floating_point():
        raise TypeError(f"expected a floating point input, got {x.dtype}. Convert it with x.float().")


def largest_divisor(channels: int, groups: int) -> int:
    """The paper's official rule for channels that `groups` does not divide: the largest divisor below it."""
    return next(g for g in range(min(groups, channels), 0, -1) if channels % g == 0)
