"""Means over the inputs of all ranks, so that values and gradients are those of one process with the whole batch."""

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


class SumOverRanks(torch.autograd.Function):
    """The sum of a tensor over the ranks. What flows back is summed likewise: every rank's loss depends on it."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, group: "ProcessGroup | None") -> Tensor:
        ctx.group = group
        total = a.clone(memory_format=torch.contiguous_format)
        torch.distributed.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return SumOverRanks.apply(gradient, ctx.group), None


def mean_over_ranks(x: Tensor, group: "ProcessGroup | None") -> Callable[[Tensor], Tensor]:
    """The mean over the batch and the spatial axes of all ranks, for values that broadcast to x on each.

    Ranks count by their elements, so batches and pictures may differ in size, and a rank's batch may be empty.
    """
    axes = (0, *range(2, x.ndim))
    here = prod(x.shape[axis] for axis in axes)
    everywhere = SumOverRanks.apply(x.new_full((), here, dtype=torch.int64), group).to(x.dtype)

    def mean(a: Tensor) -> Tensor:
        repeated = here / max(1, prod(a.shape[axis] for axis in axes))  # more than 1 where a is of size one for many
        return SumOverRanks.apply(a.sum(axes, keepdim=True) * repeated, group) / everywhere

    return mean
