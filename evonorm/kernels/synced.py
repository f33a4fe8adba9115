"""Moments over the inputs of all ranks, so that values and gradients are those of one process with the whole batch.

Ranks bring the number of their elements, means and variances, and each merges what all have brought (Chan et al. 1979),
in the same order: batches and pictures may differ in size, a rank's batch may be empty, and the result is the same on
every rank, to the bit. Plain torch exchanges once in forward and once in backward for each value whose moments are
taken; the native kernel once for all values that are complete at the same time.
"""

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, distributed

from evonorm.kernels.call import SyncedMoments

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


def merge_over_ranks(row: Tensor, width: int, group: "ProcessGroup | None") -> Tensor:
    """This rank's row to that of all. A row is a count, then `width` means and variances for each moment."""
    ranks = distributed.get_world_size(group)
    rows = row.new_empty(ranks * row.numel())
    distributed.all_gather_into_tensor(rows, row, group=group)
    rows = rows.view(ranks, -1)
    counts = rows[:, :1]
    means, variances = rows[:, 1:].reshape(ranks, -1, 2, width).unbind(2)  # (ranks, moments, width)
    shares = (counts / counts.sum()).unsqueeze(2)
    mean = (shares * means).sum(0)
    # around a mean that is not finite there is no variance; as in the native kernel a mean of squares takes its place
    apart = torch.where(mean.isfinite(), means - mean, 0.0)
    variance = (shares * (variances + apart.square())).sum(0)
    return torch.cat([counts.sum(0), torch.stack([mean, variance], 1).flatten()])


def sum_over_ranks(numbers: Tensor, group: "ProcessGroup | None") -> Tensor:
    """The sum of what all ranks bring, in place."""
    distributed.all_reduce(numbers, group=group)
    return numbers


class SumOverRanks(torch.autograd.Function):
    """The sum of a tensor over the ranks. What flows back is summed likewise: every rank's loss depends on it."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, group: "ProcessGroup | None") -> Tensor:
        ctx.group = group
        total = a.clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return SumOverRanks.apply(gradient, ctx.group), None


class MomentsOverRanks(torch.autograd.Function):
    """Mean and variance over the batch and the spatial axes of all ranks, and how many elements that are.

    `here` is this rank's number of elements; where `a` is of size one along an axis, each of its numbers is several.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, here: int, group: "ProcessGroup | None") -> tuple[Tensor, Tensor, Tensor]:
        axes = (0, *range(2, a.ndim))
        mean = a.new_zeros((1, a.shape[1], *(1,) * (a.ndim - 2)))
        variance = mean
        if here > 0:
            mean = a.mean(axes, keepdim=True)
            variance = torch.square(a - mean).mean(axes, keepdim=True)
        row = torch.cat([mean.new_full((1,), here, dtype=torch.float64), mean.flatten(), variance.flatten()])
        count, merged = merge_over_ranks(row, a.shape[1], group).split((1, row.numel() - 1))
        mean, variance = (each.view_as(mean) for each in merged.to(a.dtype).chunk(2))
        ctx.group, ctx.repeated = group, here / max(1, prod(a.shape[axis] for axis in axes))
        ctx.mark_non_differentiable(count)
        ctx.save_for_backward(a, mean, count)
        return mean, variance, count

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        a, mean, count = ctx.saved_tensors
        flat = torch.cat([gradients[0].flatten(), gradients[1].flatten()])
        total = SumOverRanks.apply(flat, ctx.group) * (ctx.repeated / count.to(a.dtype))
        of_mean, of_variance = (each.view_as(mean) for each in total.chunk(2))
        return of_mean + 2 * (a - mean) * of_variance, None, None


def moments_over_ranks(x: Tensor, moments: SyncedMoments) -> Callable[[str, Tensor, int], Tensor]:
    """A raw moment of a value that broadcasts to x, with its number: moments of one value share an exchange."""
    here = prod(x.shape[axis] for axis in (0, *range(2, x.ndim)))
    known: dict[int, tuple[Tensor, Tensor]] = {}

    def moment_of(moment: str, a: Tensor, number: int) -> Tensor:
        if number not in known:
            *known[number], count = MomentsOverRanks.apply(a, here, moments.group)
            moments.note_count(count)
        mean, variance = known[number]
        return {"mean": lambda: mean, "std": lambda: variance, "rms": lambda: variance + mean.square()}[moment]()

    return moment_of


class Exchange:
    """What the native kernel asks of the other ranks: `moments` in forward, `adjoints` in backward, each a view."""

    def __init__(self, moments: SyncedMoments, width: int) -> None:
        self.synced, self.width = moments, width
        self.everywhere = 0

    def moments(self, numbers: memoryview) -> None:
        row = torch.frombuffer(numbers, dtype=torch.float64)
        row.copy_(merge_over_ranks(row, self.width, self.synced.group))
        self.synced.note_count(row[:1].clone())
        self.everywhere = int(row[0])

    def adjoints(self, numbers: memoryview) -> None:
        distributed.all_reduce(torch.frombuffer(numbers, dtype=torch.float64), group=self.synced.group)
