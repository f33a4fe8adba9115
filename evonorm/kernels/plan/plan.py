"""What the planner hands to a device: typed values, when each is complete, what flows back, what goes in and out."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from evonorm.kernels.plan.levels import Level, Use, backward_levels, forward_levels
from evonorm.kernels.plan.values import PARAMETERS, Kind, Value


@dataclass(frozen=True)
class Export:
    """A raw batch moment to hand out: what stands behind the moment value `source`, or of a value that is constant."""

    moment: str
    source: int
    of_constant: bool


@dataclass(frozen=True)
class Plan:
    """The values in an order in which they can be computed; equal for equal functions, however nodes were ordered."""

    values: tuple[Value, ...]
    output: int
    exports: tuple[Export, ...]  # one per batch moment of the graph in its order; empty in eval mode
    eps: float

    @cached_property
    def users(self) -> tuple[tuple[Use, ...], ...]:
        """For each value its (user, position among the user's inputs) pairs."""
        users: list[list[Use]] = [[] for _ in self.values]
        for number, value in enumerate(self.values):
            for position, i in enumerate(value.inputs):
                users[i].append((number, position))
        return tuple(tuple(pairs) for pairs in users)

    @cached_property
    def forward_levels(self) -> tuple[Level, ...]:
        """When each value is complete."""
        return forward_levels(self.values)

    @cached_property
    def backward_levels(self) -> dict[int, Level]:
        """The values that need an adjoint, and when it is complete."""
        return backward_levels(self.values, self.users, self.output)

    @cached_property
    def moment_sources(self) -> tuple[int, ...]:
        """The full values of which moments are taken; a source with several moments comes once."""
        moments = [value for value in self.values if value.op == "moment"]
        return tuple(dict.fromkeys(value.inputs[0] for value in moments if self.is_full(value.inputs[0])))

    @cached_property
    def behind_moments(self) -> frozenset[int]:
        """The values that some moment depends on."""
        found: set[int] = set()
        for number in range(len(self.values) - 1, -1, -1):
            if self.values[number].op == "moment" or number in found:
                found.update(self.values[number].inputs)
        return frozenset(found)

    @cached_property
    def export_rows(self) -> tuple[int, ...]:
        """For each batch moment of the graph the row that holds it: equal moments share one."""
        rows: dict[Export, int] = {}
        return tuple(rows.setdefault(export, len(rows)) for export in self.exports)

    @property
    def parameters(self) -> dict[str, Kind]:
        """Those of weight, bias, v0 and v1 that are read: one number per channel, or per sample and channel."""
        return {value.op: value.kind for value in self.values if value.op in PARAMETERS}

    @cached_property
    def x(self) -> int | None:
        """The input's number, if the plan reads it."""
        return next((number for number, value in enumerate(self.values) if value.op == "x"), None)

    def is_full(self, number: int) -> bool:
        return self.values[number].kind == Kind.FULL

    def needs_squares(self, source: int) -> bool:
        """Whether a moment of this value is more than its mean."""
        return any(self.values[user].moment in ("rms", "std") for user, _ in self.users[source])

    def full_closure(self, needed: Iterable[int]) -> list[int]:
        """The full values, other than x, that the needed ones are computed from, in order."""
        found: set[int] = set()
        stack = [number for number in needed if self._is_computed(number)]
        while stack:
            number = stack.pop()
            if number not in found:
                found.add(number)
                stack += [i for i in self.values[number].inputs if self._is_computed(i)]
        return sorted(found)

    def _is_computed(self, number: int) -> bool:
        return self.is_full(number) and number != self.x
