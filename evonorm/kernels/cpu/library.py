"""The native library: found, checked and asked once. Without it everything runs in eager mode, with one warning."""

import warnings
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

from evonorm.graph import Graph
from evonorm.kernels.cpu.opcodes import OPCODES
from evonorm.kernels.cpu.planner import plan
from evonorm.kernels.plan.values import Kind, NoInstructionError

PITCH = 16  # rows of small values are padded to this many floats


@lru_cache(maxsize=1)
def find_library() -> tuple[ModuleType | None, str]:
    """The library, or None and why not."""
    try:
        from evonorm.kernels.cpu import _native  # type: ignore[attr-defined]
    except ImportError as error:
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
    """A graph's program inside the library, and what a call must bring along. Made once per graph, eps and mode."""

    __slots__ = (
        "channel_rows",
        "export_rows",
        "exports",
        "gradients",
        "graph",
        "handle",
        "library",
        "parameters",
        "sample_rows",
        "writes_grad_x",
    )

    def __init__(self, library: Any, graph: Graph, eps: float, training: bool) -> None:
        program = plan(graph, eps, training)
        self.library = library
        self.graph = graph
        self.handle = library.create(program.encode())
        # a name -> its place among (weight, bias, v0, v1, moving ...)
        order = ("weight", "bias", "v0", "v1", *(f"moving{i}" for i in range(len(graph.batch_moments))))
        self.parameters = tuple(order.index(name) for name in program.parameters)
        self.gradients = tuple(order.index(name) for name in program.gradients)
        self.export_rows, self.exports = program.export_rows, program.exports
        self.sample_rows = sum(kind == Kind.SAMPLE for kind in program.saved_kinds)
        self.channel_rows = len(program.saved_kinds) - self.sample_rows
        self.writes_grad_x = program.writes_grad_x

    def saved_floats(self, batch: int, channels: int) -> int:
        return (self.sample_rows * batch + self.channel_rows) * ((channels + PITCH - 1) // PITCH * PITCH)


class PreparedLayers(dict[tuple[float, bool], PreparedLayer | None]):
    """The prepared forms of one graph, by (eps, training). A copy or a pickle of it is empty: they are made anew."""

    def __reduce_ex__(self, protocol: object) -> tuple[type, tuple[()]]:
        return PreparedLayers, ()


def prepared_layer(graph: Graph, eps: float, training: bool) -> PreparedLayer | None:
    """The prepared program, kept with the graph; None if there is no library or the graph is beyond its limits."""
    # in the graph's own dict: hashing a graph for an outer cache would cost more than a small layer's run
    cache: PreparedLayers | None = graph.__dict__.get("_prepared_layers")
    if cache is None:
        cache = graph.__dict__.setdefault("_prepared_layers", PreparedLayers())
    try:
        return cache[eps, training]
    except KeyError:
        return cache.setdefault((eps, training), _prepare(graph, eps, training))


def _prepare(graph: Graph, eps: float, training: bool) -> PreparedLayer | None:
    library = library_or_warning()
    if library is None:
        return None
    try:
        return PreparedLayer(library, graph, eps, training)
    except NoInstructionError as error:
        _warn_of_plain_torch(error.primitive)
        return None
    except OverflowError:
        return None


@cache
def _warn_of_plain_torch(primitive: str) -> None:
    warnings.warn(
        f"evonorm's native kernel has no instruction for {primitive}. Layers that use it run on plain torch, which is"
        " right but slower.",
        RuntimeWarning,
        stacklevel=2,
    )
