"""What runs of a model have shown: calls of activations, runs of normalizations, and who used what they put out."""

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from evonorm.conversion.norms import Norm
from evonorm.conversion.rewrite import Span


@dataclass(frozen=True)
class Site:
    """Where a call stands in the code: which module's method, and from where to where."""

    owner: str
    method: str
    span: Span
    text: str


@dataclass(eq=False)
class Event:
    """One call of an activation, wherever it stands.

    Attributes:
        name: of the activation.
        module: its name in the model, if it is a module.
        slot: the Sequential that runs the module, and under which name.
        site: the call in the code, if it stands in a module's method.
        repeat: the function as it was called, for an activation that is no module.
        call: the run of the normalization whose output it takes, if it takes one.
    """

    name: str
    module: str | None = None
    slot: tuple[str, str] | None = None
    site: Site | None = None
    repeat: Callable[[Tensor], Tensor] | None = None
    call: "NormCall | None" = None


@dataclass(eq=False)
class NormCall:
    """One run of a normalization: who uses its output, and which activations come only after something else."""

    norm: str
    shape: tuple[int, ...]
    plain: bool | None  # whether it gave what its class says, if that is known
    uses: list["Event | str"] = field(default_factory=list)
    later: list[tuple[str, str]] = field(default_factory=list)  # (through what, activation)


@dataclass
class Seen:
    """What one or several runs of a model have shown."""

    norms: dict[str, Norm]
    calls: dict[str, list[NormCall]] = field(default_factory=dict)  # in the order of the first run
    events: list[Event] = field(default_factory=list)
    busy: set[Site] = field(default_factory=set)  # calls in the code that run something else than activations, too
