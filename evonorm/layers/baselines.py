"""The layers that the paper compares with: BN, GN and LN with an activation behind them, FRN and PixelNorm.

Where torch has the normalization, the module has torch's parameters, buffers and conventions (unbiased moving variance,
an error at one value per channel), so that existing checkpoints load. It is none of torch's classes: what handles those
by their class would lose the activation. BatchNorm and ReLU also run as torch's, since they are what speed is measured
against; the rest runs on our kernels. Without an activation all of these still normalize.
"""

from collections.abc import MutableMapping
from typing import Any, SupportsIndex

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fx import Proxy

from evonorm.graph import Graph
from evonorm.kernels import KernelCache, LayerCall, SyncedMoments, check_affine, per_channel, run_layer
from evonorm.layers.conventions import (
    Layer,
    as_one_node,
    check_input,
    check_settings,
    warn_where_activations_stay,
    whole_number,
)
from evonorm.layers.norm_act import AFFINE_ONLY, NormAct

BATCH_NORM = Graph.parse("(x - mean_bwh(x)) / std_bwh(x)")
GROUP_NORM = Graph.parse("(x - mean_whcg(x)) / std_whcg(x)")
SILU = Graph.parse("x * sigmoid(v1 * x)")
THRESHOLD = Graph.parse("max(x, v0)")


def activate(graph: Graph, z: Tensor, cache: KernelCache, v0: Tensor | None = None, v1: Tensor | None = None) -> Tensor:
    """An element-wise graph on the best kernel, without an affine."""
    one, zero = torch.ones(z.shape[1], device=z.device), torch.zeros(z.shape[1], device=z.device)
    return run_layer(LayerCall(graph, z, one, zero, v0, v1, groups=1, eps=0.0, cache=cache))[0]


class _Activated(Layer):
    """The activation behind a normalization: "relu", "silu" (z * sigmoid(v1 * z), v1 = 1 at first) or None."""

    def __init__(
        self,
        channels: SupportsIndex,
        activation: str | None,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        if activation not in ("relu", "silu", None):
            raise ValueError(f"activation must be 'relu', 'silu' or None, got {activation!r}.")
        super().__init__(channels, v1=activation == "silu", device=device, dtype=dtype)
        self.activation = activation
        self.register_load_state_dict_pre_hook(keep_v1_where_a_checkpoint_has_none)
        if activation is not None:
            warn_where_activations_stay()

    @property
    def nonlinearity(self) -> bool:
        """Whether there is an activation."""
        return self.activation is not None

    def activate(self, z: Tensor) -> Tensor:
        if self.v1 is not None:
            return activate(SILU, z, self.kernel_cache, v1=self.v1)
        return F.relu(z) if self.activation == "relu" else z


def keep_v1_where_a_checkpoint_has_none(
    module: nn.Module, state_dict: MutableMapping[str, Any], prefix: str, *_: object
) -> None:
    if isinstance(module.v1, Tensor) and f"{prefix}v1" not in state_dict:
        state_dict[f"{prefix}v1"] = torch.ones_like(module.v1)


class BatchNormAct(_Activated):
    """act((x - mean_bwh(x)) / std_bwh(x) * gamma + beta): torch's BatchNorm with an activation behind it.

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        activation: "relu", "silu" (z * sigmoid(v1 * z) with a trainable v1) or None.
        eps, momentum, device, dtype: torch's.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta), and `v1` with SiLU. Buffers are those of torch's.
    The eps is kept as `epsilon`: `fuse_conv_bn_eval` asks for `eps`, and would lose the activation if it found one.
    Raises ValueError for another activation, for inputs of another shape and, in training, for one value a channel.

    Example: y = BatchNormAct(64, "silu")(torch.randn(32, 64, 8, 8))
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    track_running_stats = True  # as torch's BatchNorm says of itself

    def __init__(
        self,
        channels: SupportsIndex,
        activation: str | None = "relu",
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_settings(eps, momentum)
        super().__init__(channels, activation, device, dtype)
        self.epsilon = eps
        self.momentum = momentum
        self.register_buffer("running_mean", torch.zeros_like(self.weight.detach()))
        self.register_buffer("running_var", torch.ones_like(self.weight.detach()))
        self.register_buffer("num_batches_tracked", torch.tensor(0, device=device))
        self.register_load_state_dict_pre_hook(count_no_batches_where_a_checkpoint_has_no_count)

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        if isinstance(x, Proxy):
            return as_one_node(self, x, weight, bias)
        check_input(x, self.channels)
        if weight is None and bias is None:
            return self.activate(self.normalize(x, self.weight, self.bias))
        gamma, beta = self.weight if weight is None else weight, self.bias if bias is None else bias
        call = LayerCall(
            AFFINE_ONLY, self.normalize(x), gamma, beta, None, None, 1, self.epsilon, cache=self.kernel_cache
        )
        return self.activate(run_layer(call)[0])

    def normalize(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        """torch's BatchNorm with this affine, or before any, moving moments included."""
        share = self.momentum or 0.0
        if self.training:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                share = 1.0 / float(self.num_batches_tracked)
            moments = self.training_moments()
            if isinstance(moments, SyncedMoments):
                return self.normalize_over_ranks(x, weight, bias, share, moments)
        return F.batch_norm(x, self.running_mean, self.running_var, weight, bias, self.training, share, self.epsilon)

    def normalize_over_ranks(
        self, x: Tensor, weight: Tensor | None, bias: Tensor | None, share: float, moments: SyncedMoments
    ) -> Tensor:
        """The same with the moments of all ranks, on our kernels: torch's own knows GPUs only."""
        gamma = torch.ones_like(self.weight) if weight is None else weight
        beta = torch.zeros_like(self.bias) if bias is None else bias
        call = LayerCall(BATCH_NORM, x, gamma, beta, None, None, 1, self.epsilon, moments, self.kernel_cache)
        y, (mean, variance) = run_layer(call)
        assert moments.counted
        count = moments.counted[0]
        if x.numel() <= self.channels and count <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {x.shape}")
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        self.running_var.lerp_((variance * (count / (count - 1))).to(self.running_var.dtype), share)
        return y

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.reset_running_stats()

    def reset_running_stats(self) -> None:
        """Forgets the moving moments, as torch's BatchNorm does under this name."""
        self.running_mean.zero_()
        self.running_var.fill_(1.0)
        self.num_batches_tracked.zero_()

    def extra_repr(self) -> str:
        return f"{self.channels}, eps={self.epsilon}, momentum={self.momentum}, activation={self.activation}"


def count_no_batches_where_a_checkpoint_has_no_count(
    module: nn.Module, state_dict: MutableMapping[str, Any], prefix: str, *_: object
) -> None:
    """Checkpoints older than torch 0.4.1, and FrozenBatchNorm's, have no `num_batches_tracked`."""
    if f"{prefix}running_var" in state_dict and isinstance(module.num_batches_tracked, Tensor):
        state_dict.setdefault(f"{prefix}num_batches_tracked", torch.zeros_like(module.num_batches_tracked))


class GroupNormAct(_Activated):
    """act((x - mean_whcg(x)) / std_whcg(x) * gamma + beta): torch's GroupNorm with an activation behind it.

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        groups: must divide the channels; 1 is LayerNorm over (w,h,c).
        activation: "relu", "silu" (z * sigmoid(v1 * z) with a trainable v1) or None.
        eps: inside the roots of the moments.
        device, dtype: of the parameters.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta), and `v1` with SiLU.
    Raises ValueError for another activation, groups that do not divide, and inputs of another shape.

    Example: y = GroupNormAct(64, groups=8)(torch.randn(2, 64, 8, 8))
    """

    def __init__(
        self,
        channels: SupportsIndex,
        groups: SupportsIndex,
        activation: str | None = "relu",
        eps: float = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_settings(eps)
        super().__init__(channels, activation, device, dtype)
        self.eps = eps
        self.groups = whole_number("groups", groups)
        if self.channels % self.groups:
            raise ValueError(f"groups must divide the channels, got {self.groups} groups of {self.channels} channels.")

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        if isinstance(x, Proxy):
            return as_one_node(self, x, weight, bias)
        check_input(x, self.channels)
        if x.numel() == self.groups:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {x.shape}")
        gamma, beta = self.weight if weight is None else weight, self.bias if bias is None else bias
        groups, eps, cache = self.groups, self.eps, self.kernel_cache
        return self.activate(run_layer(LayerCall(GROUP_NORM, x, gamma, beta, None, None, groups, eps, cache=cache))[0])

    def extra_repr(self) -> str:
        return f"{self.channels}, groups={self.groups}, eps={self.eps}, activation={self.activation}"


class FilterResponseNorm(NormAct):
    """max(z, v0) with z = x / rms_wh(x) * gamma + beta: FRN with its thresholded linear unit (Singh et al. 2019).

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        nonlinearity: False gives z alone.
        eps: inside the roots of the moments.
        device, dtype: of the parameters.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta), and `v0` with the threshold.
    Raises ValueError for impossible arguments or another number of channels, TypeError for inputs of whole numbers.

    Example: y = FilterResponseNorm(64)(torch.randn(2, 64, 8, 8))
    """

    def __init__(
        self,
        channels: SupportsIndex,
        nonlinearity: bool = True,
        eps: float = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__("x / rms_wh(x)", channels, eps=eps, device=device, dtype=dtype)
        if nonlinearity:
            self.v0 = nn.Parameter(torch.zeros_like(self.weight.detach()))

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        if isinstance(x, Proxy):
            return as_one_node(self, x, weight, bias)
        z = super().forward(x, weight, bias)
        return z if self.v0 is None else activate(THRESHOLD, z, self.kernel_cache, v0=self.v0)


class PixelNormReLU(Layer):
    """max(z, 0) with z = x / rms_c(x) * gamma + beta, the rms of each pixel over its channels (Karras et al. 2018).

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        nonlinearity: False gives z alone.
        eps: inside the roots of the moments.
        device, dtype: of the parameters.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta).
    Raises ValueError for inputs of another shape, TypeError for inputs of whole numbers.

    Example: y = PixelNormReLU(64)(torch.randn(2, 64, 8, 8))
    """

    def __init__(
        self,
        channels: SupportsIndex,
        nonlinearity: bool = True,
        eps: float = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_settings(eps)
        super().__init__(channels, device=device, dtype=dtype)
        self.nonlinearity, self.eps = nonlinearity, eps

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        if isinstance(x, Proxy):
            return as_one_node(self, x, weight, bias)
        check_input(x, self.channels)
        gamma, beta = self.weight if weight is None else weight, self.bias if bias is None else bias
        check_affine(x, gamma, beta)
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        rms = torch.sqrt(torch.square(wide).mean(1, keepdim=True) + self.eps)  # (b, 1, ...)
        z = wide / rms * per_channel(gamma, wide) + per_channel(beta, wide)
        return (F.relu(z) if self.nonlinearity else z).to(x.dtype)

    def extra_repr(self) -> str:
        return f"channels={self.channels}, eps={self.eps}, nonlinearity={self.nonlinearity}"
