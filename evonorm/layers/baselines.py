"""The layers that the paper compares with: BN, GN and LN with an activation behind them, FRN and PixelNorm.

Where torch has the normalization, the module *is* torch's with the activation behind it, so that existing checkpoints
load; it keeps torch's conventions (unbiased moving variance, an error at one value per channel). BatchNorm and
ReLU also run as torch's, since they are what speed is measured against; the rest runs on our kernels. Without an
activation all of these still normalize.
"""

from collections.abc import MutableMapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from evonorm.graph import Graph
from evonorm.kernels import KernelCache, LayerCall, check_affine, per_channel, run_layer
from evonorm.layers.norm_act import AFFINE_ONLY, NormAct, check_input, check_settings

GROUP_NORM = Graph.parse("(x - mean_whcg(x)) / std_whcg(x)")
SILU = Graph.parse("x * sigmoid(v1 * x)")
THRESHOLD = Graph.parse("max(x, v0)")


def activate(graph: Graph, z: Tensor, cache: KernelCache, v0: Tensor | None = None, v1: Tensor | None = None) -> Tensor:
    """An element-wise graph on the best kernel, without an affine."""
    one, zero = torch.ones(z.shape[1], device=z.device), torch.zeros(z.shape[1], device=z.device)
    return run_layer(LayerCall(graph, z, one, zero, v0, v1, groups=1, eps=0.0, cache=cache))[0]


class _Activated(nn.Module):
    """The activation behind a normalization: "relu", "silu" (z * sigmoid(v1 * z), v1 = 1 at first) or None."""

    activation: str | None
    v1: nn.Parameter | None
    kernel_cache: KernelCache

    def add_activation(self, activation: str | None, channels: int) -> None:
        if activation not in ("relu", "silu", None):
            raise ValueError(f"activation must be 'relu', 'silu' or None, got {activation!r}.")
        self.activation = activation
        self.kernel_cache = KernelCache()
        self.register_parameter("v1", nn.Parameter(torch.ones(channels)) if activation == "silu" else None)
        self.register_load_state_dict_pre_hook(keep_v1_where_a_checkpoint_has_none)

    def activate(self, z: Tensor) -> Tensor:
        if self.v1 is not None:
            return activate(SILU, z, self.kernel_cache, v1=self.v1)
        return F.relu(z) if self.activation == "relu" else z

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, activation={self.activation}"


def keep_v1_where_a_checkpoint_has_none(
    module: nn.Module, state_dict: MutableMapping[str, Any], prefix: str, *_: object
) -> None:
    if isinstance(module.v1, Tensor) and f"{prefix}v1" not in state_dict:
        state_dict[f"{prefix}v1"] = torch.ones_like(module.v1)


class BatchNormAct(_Activated, _BatchNorm):
    """act((x - mean_bwh(x)) / std_bwh(x) * gamma + beta): torch's BatchNorm with an activation behind it.

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        activation: "relu", "silu" (z * sigmoid(v1 * z) with a trainable v1) or None.
        eps, momentum: torch's.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta), and `v1` with SiLU.
    Raises ValueError for another activation, for inputs of another shape and, in training, for one value a channel.

    Example: y = BatchNormAct(64, "silu")(torch.randn(32, 64, 8, 8))
    """

    def __init__(
        self, channels: int, activation: str | None = "relu", eps: float = 1e-5, momentum: float | None = 0.1
    ) -> None:
        super().__init__(channels, eps, momentum)
        self.add_activation(activation, channels)

    def _check_input_dim(self, input: Tensor) -> None:  # noqa: A002 (torch's name for it)
        check_input(input, self.num_features)

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        if weight is None and bias is None:
            return self.activate(super().forward(x))
        check_input(x, self.num_features)
        gamma, beta = self.weight if weight is None else weight, self.bias if bias is None else bias
        call = LayerCall(AFFINE_ONLY, self.normalize(x), gamma, beta, None, None, 1, self.eps, cache=self.kernel_cache)
        return self.activate(run_layer(call)[0])

    def normalize(self, x: Tensor) -> Tensor:
        """What torch's BatchNorm does before its affine, moving moments included."""
        share = self.momentum or 0.0
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                share = 1.0 / float(self.num_batches_tracked)
        return F.batch_norm(x, self.running_mean, self.running_var, None, None, self.training, share, self.eps)


class GroupNormAct(_Activated, nn.GroupNorm):
    """act((x - mean_whcg(x)) / std_whcg(x) * gamma + beta): torch's GroupNorm with an activation behind it.

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        groups: must divide the channels; 1 is LayerNorm over (w,h,c).
        activation: "relu", "silu" (z * sigmoid(v1 * z) with a trainable v1) or None.
        eps: inside the roots of the moments.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta), and `v1` with SiLU.
    Raises ValueError for another activation, groups that do not divide, and inputs of another shape.

    Example: y = GroupNormAct(64, groups=8)(torch.randn(2, 64, 8, 8))
    """

    def __init__(self, channels: int, groups: int, activation: str | None = "relu", eps: float = 1e-5) -> None:
        super().__init__(groups, channels, eps)
        self.add_activation(activation, channels)

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        check_input(x, self.num_channels)
        if x.numel() == self.num_groups:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {x.shape}")
        gamma, beta = self.weight if weight is None else weight, self.bias if bias is None else bias
        groups, eps, cache = self.num_groups, self.eps, self.kernel_cache
        return self.activate(run_layer(LayerCall(GROUP_NORM, x, gamma, beta, None, None, groups, eps, cache=cache))[0])


class FilterResponseNorm(NormAct):
    """max(z, v0) with z = x / rms_wh(x) * gamma + beta: FRN with its thresholded linear unit (Singh et al. 2019).

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        nonlinearity: False gives z alone.
        eps: inside the roots of the moments.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta), and `v0` with the threshold.
    Raises ValueError for impossible arguments or another number of channels, TypeError for inputs of whole numbers.

    Example: y = FilterResponseNorm(64)(torch.randn(2, 64, 8, 8))
    """

    def __init__(self, channels: int, nonlinearity: bool = True, eps: float = 1e-5) -> None:
        super().__init__("x / rms_wh(x)", channels, eps=eps)
        if nonlinearity:
            self.v0 = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        z = super().forward(x, weight, bias)
        return z if self.v0 is None else activate(THRESHOLD, z, self.kernel_cache, v0=self.v0)


class PixelNormReLU(nn.Module):
    """max(z, 0) with z = x / rms_c(x) * gamma + beta, the rms of each pixel over its channels (Karras et al. 2018).

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        nonlinearity: False gives z alone.
        eps: inside the roots of the moments.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta).
    Raises ValueError for inputs of another shape, TypeError for inputs of whole numbers.

    Example: y = PixelNormReLU(64)(torch.randn(2, 64, 8, 8))
    """

    def __init__(self, channels: int, nonlinearity: bool = True, eps: float = 1e-5) -> None:
        super().__init__()
        check_settings(channels, 1, eps, None)
        self.channels, self.nonlinearity, self.eps = channels, nonlinearity, eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        check_input(x, self.channels)
        gamma, beta = self.weight if weight is None else weight, self.bias if bias is None else bias
        check_affine(x, gamma, beta)
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        rms = torch.sqrt(torch.square(wide).mean(1, keepdim=True) + self.eps)  # (b, 1, ...)
        z = wide / rms * per_channel(gamma, wide) + per_channel(beta, wide)
        return (F.relu(z) if self.nonlinearity else z).to(x.dtype)

    def extra_repr(self) -> str:
        return f"channels={self.channels}, eps={self.eps}, nonlinearity={self.nonlinearity}"
