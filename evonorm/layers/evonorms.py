"""The paper's six layers by name. Each is `NormAct` with its formula from the catalog."""

from typing import SupportsIndex

import torch

from evonorm.graph import graph_of
from evonorm.layers.norm_act import NormAct


class NamedNormAct(NormAct):
    """A NormAct whose graph is a line of the catalog."""

    name: str

    def __init__(
        self,
        channels: SupportsIndex,
        nonlinearity: bool = True,
        groups: SupportsIndex = 32,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(graph_of(self.name), channels, nonlinearity, groups, eps, momentum, device, dtype)


class EvoNormB0(NamedNormAct):
    """x / max(std_bwh(x), v1 * x + std_wh(x)) * gamma + beta. The paper's choice for batches of 32 and more.

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        nonlinearity: False gives x * gamma + beta, for where a model has no activation.
        groups: without effect, since no moment is over groups of channels.
        eps: inside the roots of the moments.
        momentum: weight of the new batch in the moving moments; None averages all batches equally.
        device, dtype: of the parameters.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta), `v1`. Evaluation uses the moving `running_var`.
    Raises ValueError for impossible arguments or another number of channels, TypeError for inputs of whole numbers.

    Example: y = evonorm.EvoNormB0(64)(torch.randn(32, 64, 8, 8))
    """

    name = "evonorm-b0"


class EvoNormB1(NamedNormAct):
    """x / max(std_bwh(x), (x + 1) * rms_wh(x)) * gamma + beta. Without v1.

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        nonlinearity: False gives x * gamma + beta, for where a model has no activation.
        groups: without effect, since no moment is over groups of channels.
        eps: inside the roots of the moments.
        momentum: weight of the new batch in the moving moments; None averages all batches equally.
        device, dtype: of the parameters.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta). Evaluation uses the moving `running_var`.
    Raises ValueError for impossible arguments or another number of channels, TypeError for inputs of whole numbers.

    Example: y = evonorm.EvoNormB1(64)(torch.randn(32, 64, 8, 8))
    """

    name = "evonorm-b1"


class EvoNormB2(NamedNormAct):
    """x / max(std_bwh(x), rms_wh(x) - x) * gamma + beta. Without v1.

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        nonlinearity: False gives x * gamma + beta, for where a model has no activation.
        groups: without effect, since no moment is over groups of channels.
        eps: inside the roots of the moments.
        momentum: weight of the new batch in the moving moments; None averages all batches equally.
        device, dtype: of the parameters.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta). Evaluation uses the moving `running_var`.
    Raises ValueError for impossible arguments or another number of channels, TypeError for inputs of whole numbers.

    Example: y = evonorm.EvoNormB2(64)(torch.randn(32, 64, 8, 8))
    """

    name = "evonorm-b2"


class EvoNormS0(NamedNormAct):
    """x * sigmoid(v1 * x) / std_whcg(x) * gamma + beta. Needs no batch: the paper's choice for small batches.

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        nonlinearity: False gives x * gamma + beta, for where a model has no activation.
        groups: of channels; the largest divisor of `channels` that is not above it is taken.
        eps: inside the roots of the moments.
        momentum: without effect, since no moment is over the batch.
        device, dtype: of the parameters.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta), `v1`. Training and evaluation are the same.
    Raises ValueError for impossible arguments or another number of channels, TypeError for inputs of whole numbers.

    Example: y = evonorm.EvoNormS0(64)(torch.randn(2, 64, 8, 8))
    """

    name = "evonorm-s0"


class EvoNormS1(NamedNormAct):
    """x * sigmoid(x) / std_whcg(x) * gamma + beta. Needs no batch.

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        nonlinearity: False gives x * gamma + beta, for where a model has no activation.
        groups: of channels; the largest divisor of `channels` that is not above it is taken.
        eps: inside the roots of the moments.
        momentum: without effect, since no moment is over the batch.
        device, dtype: of the parameters.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta). Training and evaluation are the same.
    Raises ValueError for impossible arguments or another number of channels, TypeError for inputs of whole numbers.

    Example: y = evonorm.EvoNormS1(64)(torch.randn(2, 64, 8, 8))
    """

    name = "evonorm-s1"


class EvoNormS2(NamedNormAct):
    """x * sigmoid(x) / rms_whcg(x) * gamma + beta. Needs no batch.

    Arguments:
        channels: C of the inputs (N, C, *spatial), with zero to three spatial axes.
        nonlinearity: False gives x * gamma + beta, for where a model has no activation.
        groups: of channels; the largest divisor of `channels` that is not above it is taken.
        eps: inside the roots of the moments.
        momentum: without effect, since no moment is over the batch.
        device, dtype: of the parameters.

    Parameters of shape (C,): `weight` (gamma), `bias` (beta). Training and evaluation are the same.
    Raises ValueError for impossible arguments or another number of channels, TypeError for inputs of whole numbers.

    Example: y = evonorm.EvoNormS2(64)(torch.randn(2, 64, 8, 8))
    """

    name = "evonorm-s2"


EVONORMS = (EvoNormB0, EvoNormB1, EvoNormB2, EvoNormS0, EvoNormS1, EvoNormS2)
