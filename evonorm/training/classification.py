"""Classifiers as a task: cross entropy on labelled pictures, accuracy on held-out ones."""

from collections.abc import Callable, Iterable, Set

import torch.nn.functional as F
from torch import Tensor, nn

from evonorm.training.task import Batches, Losses, Measure, Turn
from evonorm.training.validation import accuracy, reestimated_moments

Labelled = tuple[Tensor, Tensor]  # pictures and labels


def classification_loss(model: nn.Module, batch: Labelled) -> Tensor:
    """The mean cross entropy of a batch."""
    pictures, labels = batch
    return F.cross_entropy(model(pictures), labels)


class Classification:
    """A net with its pictures.

    Arguments:
        model: gives logits.
        batches: pictures and labels of each step.
        undecayed: names of the parameters without weight decay.
        held_out: makes the batches that accuracy is measured on.
        moment_batches: 0 measures with the moving moments; above that with their plain average over so many coming
            training batches, which runs of less than about 200 steps need.
    """

    def __init__(
        self,
        model: nn.Module,
        batches: Batches,
        undecayed: Set[str] = frozenset(),
        held_out: Callable[[], Iterable[Labelled]] | None = None,
        moment_batches: int = 0,
    ) -> None:
        self.model, self.batches, self.held_out, self.moment_batches = model, batches, held_out, moment_batches
        self.turns: tuple[Turn, ...] = (Turn("classifier", model, self._losses, undecayed),)

    def _losses(self, batch: Labelled) -> Losses:
        return {"cross entropy": classification_loss(self.model, batch)}

    def batch(self, step: int, worker: int, turn: int) -> Labelled:
        assert turn == 0, "a classifier has one turn a step"
        found: Labelled = self.batches.batch(step, worker)
        return found

    def measure(self, step: int) -> tuple[Measure, ...]:
        if self.held_out is None:
            raise ValueError("this task has no held-out pictures to measure accuracy on.")
        return (Measure("accuracy", self.accuracy(step, self.held_out(), self.moment_batches)),)

    def accuracy(self, step: int, pictures: Iterable[Labelled], moment_batches: int) -> float:
        """On these pictures, after so many steps."""
        if not moment_batches:
            return accuracy(self.model, pictures)
        coming = (self.batches.batch(step + i)[0] for i in range(moment_batches))
        with reestimated_moments(self.model, coming):
            return accuracy(self.model, pictures)
