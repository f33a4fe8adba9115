"""One call of a layer as one value, and what a kernel is: something that takes a call or says why not.

A NamedTuple and not a dataclass: it is made on every forward of every layer, and torch.compile looks through it.
"""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor

from evonorm.graph import Graph

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

Result = tuple[Tensor, tuple[Tensor, ...]]
"""The graph's output times weight plus bias, and the raw batch moments: the mean, mean of squares or biased variance
behind each node in `graph.batch_moments`, in that order, (C,) each and detached; none with moving moments."""


class BatchMoments(NamedTuple):
    """Moments over the batch are those of this input: training in one process."""


class MovingMoments(NamedTuple):
    """Given moments stand in for the batch's: evaluation. One (C,) tensor per node in `graph.batch_moments`."""

    tensors: tuple[Tensor, ...]


class SyncedMoments(NamedTuple):
    """Moments are of the inputs of all ranks of a process group, as if they were one batch; None: every rank.

    A list in `counted` is given the number of elements behind a channel of all ranks, as a tensor of one number.
    """

    group: "ProcessGroup | None" = None
    counted: list[Tensor] | None = None

    def note_count(self, count: Tensor) -> None:
        """A kernel tells how many elements the ranks have brought; it may do so once for each exchange."""
        if self.counted is not None:
            self.counted[:] = [count]

    def __deepcopy__(self, memo: dict[int, Any]) -> "SyncedMoments":
        return self  # a process group is no part of a model, and cannot be copied


Moments = BatchMoments | MovingMoments | SyncedMoments
THIS_BATCH = BatchMoments()


class KernelCache:
    """What kernels prepared for one layer and want to find again. A copy or a pickle of it is empty."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: dict[Hashable, Any] = {}

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return KernelCache, ()


class LayerCall(NamedTuple):
    """y = graph(x) * weight + bias for x of shape (B, C, *spatial)."""

    graph: Graph
    x: Tensor
    weight: Tensor  # (C,), or (B, C): per sample
    bias: Tensor  # likewise
    v0: Tensor | None  # (C,)
    v1: Tensor | None
    groups: int
    eps: float
    moments: Moments = THIS_BATCH
    cache: KernelCache | None = None  # of the layer; without one a kernel looks longer for what it has prepared

    @property
    def moving(self) -> tuple[Tensor, ...]:
        """The moments that stand in for the batch's, if any do."""
        return self.moments.tensors if isinstance(self.moments, MovingMoments) else ()


class Kernel(NamedTuple):
    """A way to run calls: `refuses` gives None for a call that it takes, else the reason in words."""

    name: str
    refuses: Callable[[LayerCall], str | None]
    run: Callable[[LayerCall], Result]


def check_shapes(call: LayerCall) -> None:
    """Every parameter has C numbers; weight and bias may have B x C."""
    check_affine(call.x, call.weight, call.bias)
    channels = call.x.shape[1]
    for vector in (call.v0, call.v1, *call.moving):
        if vector is not None and vector.shape != (channels,):
            raise ValueError(
                f"the input has {channels} channels, but v0, v1 or a moving moment has shape {tuple(vector.shape)}."
                f" Parameters are ({channels},) here."
            )


def check_affine(x: Tensor, weight: Tensor, bias: Tensor) -> None:
    """Both are (C,) or (B, C)."""
    batch, channels = x.shape[0], x.shape[1]
    for name, vector in (("weight", weight), ("bias", bias)):
        if vector.shape != (channels,) and vector.shape != (batch, channels):
            raise ValueError(
                f"the input has {batch} samples of {channels} channels, but {name} has shape {tuple(vector.shape)}."
                f" It must be ({channels},), or ({batch}, {channels}) per sample."
            )
