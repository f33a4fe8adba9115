"""Classifiers as a task: cross entropy on labelled pictures, accuracy on held-out ones."""

from collections.abc import Callable, Iterable, Iterator, Set

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evonorm.training.devices import device_of, moved
from evonorm.training.ranks import sum_over_ranks
from evonorm.training.task import Batches, Losses, Measure, Turn
from evonorm.training.validation import reestimated_moments, right_answers

Labelled = tuple[Tensor, Tensor]  # pictures and labels


def classification_loss(model: nn.Module, batch: Labelled, label_smoothing: float = 0.0) -> Tensor:
    """The mean cross entropy of a batch, in float32 at least."""
    pictures, labels = batch
    logits = model(pictures)
    precise = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(precise, labels, label_smoothing=label_smoothing)


class Classification:
    """A net with its pictures.

    Arguments:
        model: gives logits.
        batches: pictures and labels of each step.
        undecayed: names of the parameters without weight decay.
        held_out: makes the batches that accuracy is measured on: this rank's share of them, where there are many.
        moment_batches: 0 measures with the moving moments; above that with their plain average over so many coming
            training batches, which runs of less than about 200 steps need.
        label_smoothing: share of the target that is spread over all classes.
        prepare: what pictures go through on the model's device before it sees them.
        top5: whether the share of labels among the five largest logits is measured as well.
    """

    def __init__(
        self,
        model: nn.Module,
        batches: Batches,
        undecayed: Set[str] = frozenset(),
        held_out: Callable[[], Iterable[Labelled]] | None = None,
        moment_batches: int = 0,
        label_smoothing: float = 0.0,
        prepare: Callable[[Tensor], Tensor] = lambda pictures: pictures,
        top5: bool = False,
    ) -> None:
        self.model, self.batches, self.held_out, self.moment_batches = model, batches, held_out, moment_batches
        self.label_smoothing, self.prepare, self.top5 = label_smoothing, prepare, top5
        self.turns: tuple[Turn, ...] = (Turn("classifier", model, self._losses, undecayed),)

    def _losses(self, batch: Labelled) -> Losses:
        pictures, labels = batch
        ready = self.prepare(pictures), labels
        return {"cross entropy": classification_loss(self.model, ready, self.label_smoothing)}

    def batch(self, step: int, worker: int, turn: int) -> Labelled:
        assert turn == 0, "a classifier has one turn a step"
        found: Labelled = self.batches.batch(step, worker)
        return found

    def measure(self, step: int) -> tuple[Measure, ...]:
        if self.held_out is None:
            raise ValueError("this task has no held-out pictures to measure accuracy on.")
        first, among_five = self._shares(step, self.held_out(), self.moment_batches)
        if not self.top5:
            return (Measure("accuracy", first),)
        return Measure("top-1 accuracy", first), Measure("top-5 accuracy", among_five)

    def accuracy(self, step: int, pictures: Iterable[Labelled], moment_batches: int) -> float:
        """On these pictures, after so many steps."""
        return self._shares(step, pictures, moment_batches)[0]

    def _shares(self, step: int, pictures: Iterable[Labelled], moment_batches: int) -> tuple[float, float]:
        if not moment_batches:
            counts = right_answers(self.model, self._prepared(pictures))
        else:
            coming = (self.batches.batch(step + i) for i in range(moment_batches))
            with reestimated_moments(self.model, (pictures for pictures, _ in self._prepared(coming))):
                counts = right_answers(self.model, self._prepared(pictures))
        first, among_five, total = sum_over_ranks(torch.tensor(counts, device=device_of(self.model))).tolist()
        return first / total, among_five / total

    def _prepared(self, batches: Iterable[Labelled]) -> Iterator[Labelled]:
        device = device_of(self.model)
        for pictures, labels in (moved(batch, device) for batch in batches):
            yield self.prepare(pictures), labels
