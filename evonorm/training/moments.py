"""What becomes of the moving moments of one step's logical workers: the first one's, or the mean over all."""

from typing import Literal

import torch
from torch import Tensor, nn

from evonorm.training.ranks import share_buffers, sum_over_ranks


class WorkerMoments:
    """The buffers of a net while this rank's workers take one turn after another.

    Moving averages are linear: the mean over workers after every step is the mean of averages that each worker would
    have kept for itself.
    """

    def __init__(self, net: nn.Module, workers: int, keep: Literal["first", "averaged"]) -> None:
        self.net, self.workers, self.keep = net, workers, keep
        self.before = self._copies() if workers > 1 and keep == "averaged" else {}
        self.sums: dict[str, Tensor] = {}

    def after_worker(self, worker: int) -> None:
        if self.workers == 1:
            return
        if self.keep == "first":
            if worker == 0:
                self.sums = self._copies()
            return
        for name, buffer in self._copies().items():
            floating = buffer.is_floating_point()
            self.sums[name] = self.sums[name] + buffer if floating and name in self.sums else buffer
        self._put(self.before)

    def after_all(self) -> None:
        if self.workers == 1:
            return
        if self.keep == "averaged":
            self.sums = {
                name: sum_over_ranks(total) / self.workers if total.is_floating_point() else total
                for name, total in self.sums.items()
            }
        self._put(self.sums)  # "first": empty but on the first rank, whose buffers all ranks get next
        share_buffers(self.net)

    def _copies(self) -> dict[str, Tensor]:
        return {name: buffer.clone() for name, buffer in self.net.named_buffers()}

    @torch.no_grad()
    def _put(self, values: dict[str, Tensor]) -> None:
        for name, buffer in self.net.named_buffers():
            if name in values:
                buffer.copy_(values[name])
