"""What a run trains, as the loop sees it: nets that take turns, batches, what is minimized, what is measured.

A classifier or a detector has one turn a step, a GAN several (its discriminator twice, its generator once). Everything
that is random is a pure function of (seed, step, worker): a run can be stopped at any step and go on anywhere.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from torch import Tensor, nn

Batch = Any  # what a task's own loss understands: pictures with labels, pictures with boxes, latent vectors ...
Losses = Mapping[str, Tensor]  # by name; their sum is what the turn minimizes


@dataclass(frozen=True)
class Measure:
    """One figure of how good a model is on data that it was not trained on."""

    name: str
    value: float
    more_is_better: bool = True


@dataclass(frozen=True)
class Turn:
    """One update of one net.

    Attributes:
        name: turns of one name share an optimizer.
        net: whose parameters are updated.
        losses: what it minimizes on a batch.
        undecayed: names of the net's parameters without weight decay.
        rate: share of the recipe's learning rate.
        averaged: whether the recipe's average of weights covers this net; a GAN's discriminator does without.
    """

    name: str
    net: nn.Module
    losses: Callable[[Batch], Losses]
    undecayed: Set[str] = frozenset()
    rate: float = 1.0
    averaged: bool = True


class Task(Protocol):
    """The contract between the loop and everything that can be trained.

    Attributes:
        model: every net and buffer that a checkpoint must hold.
        turns: what happens in one step, in order.
    """

    model: nn.Module
    turns: tuple[Turn, ...]

    def batch(self, step: int, worker: int, turn: int) -> Batch:
        """The batch of one logical worker: the same for the same numbers, whenever and wherever it is asked for."""
        ...

    def measure(self, step: int) -> tuple[Measure, ...]:
        """How good the model is after so many steps; the first measure is the one that decides."""
        ...


@runtime_checkable
class Illustrated(Protocol):
    """A task with something to look at beside its figures: samples of a generator, what a detector finds."""

    def illustrations(self) -> Mapping[str, bytes]:
        """PNG files by a short plain name, as of the latest measurement; none before the first."""
        ...


class Batches(Protocol):
    """Batches by step and logical worker: the same tensors for the same numbers."""

    def batch(self, step: int, worker: int = 0) -> Batch: ...
