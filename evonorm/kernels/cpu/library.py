"""The native library: found, checked and asked once. Without it everything runs in eager mode, with one warning."""

import warnings
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

from evonorm.graph import Graph
from evonorm.kernels.call import LayerCall, MovingMoments
from evonorm.kernels.cpu.opcodes import OPCODES
from evonorm.kernels.cpu.planner import program_of
from evonorm.kernels.plan.values import PARAMETERS, Kind, NoInstructionError

PITCH = 16  # rows of small values are padded to this many floats


@lru_cache(maxsize=1)
def find_library() -> tuple[ModuleType | None, str]:
    """The library, or None and why not."""
    try:
        from evonorm.kernels.cpu import _native  # type: ignore[attr-defined]
    except ImportError as error:
        if not list(Path(__file__).parent.glob("_native*")):
            return None, "this installation has none (a pure wheel, or no C++17 compiler when it was installed)"
        return None, f"it could not be loaded ({error}); build it with `pip install -e .` and a C++17 compiler"
    library: Any = _native
    if library.opcodes() != OPCODES or list(library.opcodes()) != list(OPCODES):
        return None, "it was built from other sources than this package; build it again with `pip install -e .`"
    return library, ""


@lru_cache(maxsize=1)
def library_or_warning() -> ModuleType | None:
    """The library; the first time it is missed, a warning says why."""
    library, reason = find_library()
    if library is None:
        warnings.warn(
            f"evonorm's native kernel is not used: {reason}. Layers run in eager mode, which is right but slower.",
            RuntimeWarning,
            stacklevel=2,
        )
    return library


class PreparedLayer:
    """A graph's program inside the library, and what a call must bring along."""

    __slots__ = (
        "__weakref__",
        "channel_rows",
        "eps",
        "export_rows",
        "exports",
        "gradients",
        "graph",
        "handle",
        "library",
        "parameters",
        "sample_rows",
        "training",
        "writes_grad_x",
    )

    def __init__(self, library: Any, graph: Graph, eps: float, training: bool, per_sample: frozenset[str]) -> None:
        program = program_of(graph, eps, training, per_sample)
        self.library = library
        self.graph, self.eps, self.training = graph, eps, training
        self.handle = library.create(program.encode())
        # a name -> its place among (weight, bias, v0, v1, moving ...)
        order = (*PARAMETERS, *(f"moving{i}" for i in range(len(graph.batch_moments))))
        self.parameters = tuple(order.index(name) for name in program.parameters)
        self.gradients = tuple(order.index(name) for name in program.gradients)
        self.export_rows, self.exports = program.export_rows, program.exports
        self.sample_rows = sum(kind == Kind.SAMPLE for kind in program.saved_kinds)
        self.channel_rows = len(program.saved_kinds) - self.sample_rows
        self.writes_grad_x = program.writes_grad_x

    def saved_floats(self, batch: int, channels: int) -> int:
        return (self.sample_rows * batch + self.channel_rows) * ((channels + PITCH - 1) // PITCH * PITCH)


# Layers of equal graphs share their program; it goes with the last of them.
_prepared: WeakValueDictionary[tuple[Graph, float, bool, frozenset[str]], PreparedLayer] = WeakValueDictionary()


def prepared_layer(call: LayerCall) -> PreparedLayer | None:
    """The prepared program of this call, kept with the layer; None without a library or beyond its limits."""
    graph, eps, training = call.graph, call.eps, not isinstance(call.moments, MovingMoments)
    weights, biases = call.weight.ndim, call.bias.ndim
    if call.cache is None:
        return prepare_layer(graph, eps, training, weights, biases)
    # hashing a graph would cost more than a small layer's run; the entry keeps it alive, so its id stays its own
    key = (id(graph), eps, training, weights, biases)
    entry = call.cache.entries.get(key)
    if entry is None:
        entry = call.cache.entries[key] = (graph, prepare_layer(graph, eps, training, weights, biases))
    layer: PreparedLayer | None = entry[1]
    return layer


def prepare_layer(graph: Graph, eps: float, training: bool, weights: int = 1, biases: int = 1) -> PreparedLayer | None:
    """As `prepared_layer`, for an affine with this many axes: 1 is (C,), 2 is (B, C)."""
    library = library_or_warning()
    if library is None:
        return None
    per_sample = frozenset(name for name, axes in (("weight", weights), ("bias", biases)) if axes == 2)
    key = (graph, eps, training, per_sample)
    found = _prepared.get(key)
    if found is None:
        try:
            found = _prepared[key] = PreparedLayer(library, graph, eps, training, per_sample)
        except NoInstructionError as error:
            _warn_of_plain_torch(error.primitive)
            return None
        except OverflowError:
            return None
    return found


@cache
def _warn_of_plain_torch(primitive: str) -> None:
    warnings.warn(
        f"evonorm's native kernel has no instruction for {primitive}. Layers that use it run on plain torch, which is"
        " right but slower.",
        RuntimeWarning,
        stacklevel=2,
    )


def why_not_native() -> str:
    """The library's own reason, or the only other one."""
    return find_library()[1] or "the graph is beyond the kernel's limits"
