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
        self.before = self._copies()
        self.kept: dict[str, Tensor] = {}  # the first worker's, or the sum over this rank's

    def after_worker(self, worker: int) -> None:
        if self.workers == 1:
            return
        if self.keep == "first":
            self.kept = self._copies() if worker == 0 else self.kept
            return
        for name, buffer in self._copies().items():
            counts = buffer.is_floating_point() and name in self.kept
            self.kept[name] = self.kept[name] + buffer if counts else buffer
        self._put(self.before)

    def after_all(self) -> None:
        if self.workers == 1:
            return
        if self.keep == "averaged":
            self.kept = {
                name: sum_over_ranks(total) / self.workers if total.is_floating_point() else total
                for name, total in self.kept.items()
            }
        self._put(self.kept)  # with "first" none but on the first rank, whose buffers all ranks get next
        share_buffers(self.net)

    def undo(self) -> None:
        """The buffers as they were before the turn."""
        self._put(self.before)

    def _copies(self) -> dict[str, Tensor]:
        return {name: buffer.clone() for name, buffer in self.net.named_buffers()}

    @torch.no_grad()
    def _put(self, values: dict[str, Tensor]) -> None:
        for name, buffer in self.net.named_buffers():
            if name in values:
                buffer.copy_(values[name])
