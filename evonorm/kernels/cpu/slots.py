"""The small values of a program and their places, by name."""

from evonorm.kernels.cpu.program import Home, Slot
from evonorm.kernels.plan.plan import Plan
from evonorm.kernels.plan.values import PARAMETERS, Kind, Value


class Slots:
    """Gives every small value, mean, adjoint and coefficient its slot on first mention."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.slots: list[Slot] = []
        self.numbers: dict[tuple[str, int], int] = {}
        self.parameters: list[str] = []
        self.gradients: list[str] = []

    def value(self, number: int) -> int:
        """The slot of a small value. Moments are kept for backward, the rest is cheap to compute again."""
        value = self.plan.values[number]
        assert value.kind < Kind.FULL
        if value.op == "const":
            return self._slot("value", number, Slot(Kind.CONST, Home.CONST, constant=value.constant))
        if not value.inputs:
            return self._parameter(number, value)
        return self._slot("value", number, Slot(value.kind, Home.SAVED if value.op == "moment" else Home.SCRATCH))

    def _parameter(self, number: int, value: Value) -> int:
        name = f"moving{value.index}" if value.op == "moving" else value.op
        if ("value", number) not in self.numbers:
            self.parameters.append(name)
        return self._slot("value", number, Slot(value.kind, Home.PARAMETER, self.parameters.index(name)))

    def mean(self, number: int) -> int:
        """The slot of the mean behind a std; a mean of the same source over the same set is that value itself."""
        std = self.plan.values[number]
        for other, value in enumerate(self.plan.values):
            if (value.moment, value.index_set, value.inputs) == ("mean", std.index_set, std.inputs):
                return self.value(other)
        return self._slot("mean", number, Slot(std.kind, Home.SAVED))

    def adjoint_rows(self, number: int) -> int:
        """Per (sample, channel) sums of what flows into a small value."""
        if self._is_parameter(number, Kind.SAMPLE):
            return self._gradient("adjoint rows", number)
        return self._slot("adjoint rows", number, Slot(Kind.SAMPLE, Home.SCRATCH))

    def adjoint(self, number: int) -> int:
        """The complete adjoint of a small value: rows, or for per-channel values their sum over the batch."""
        if self.plan.values[number].kind == Kind.SAMPLE:
            return self.adjoint_rows(number)
        if self._is_parameter(number, Kind.CHANNEL):
            return self._gradient("adjoint", number)
        return self._slot("adjoint", number, Slot(Kind.CHANNEL, Home.SCRATCH))

    def _is_parameter(self, number: int, kind: Kind) -> bool:
        return self.plan.values[number].op in PARAMETERS and self.plan.values[number].kind == kind

    def _gradient(self, what: str, number: int) -> int:
        value = self.plan.values[number]
        if (what, number) not in self.numbers:
            self.gradients.append(value.op)
        return self._slot(what, number, Slot(value.kind, Home.GRAD, self.gradients.index(value.op)))

    def coefficient(self, number: int) -> int:
        """What a moment's adjoint sends to its elements, see backward.py."""
        return self._slot("coefficient", number, Slot(self.plan.values[number].kind, Home.SCRATCH))

    def export(self, row: int) -> int:
        return self._slot("export", row, Slot(Kind.CHANNEL, Home.EXPORT, row))

    def zero(self) -> int:
        return self._slot("zero", 0, Slot(Kind.CONST, Home.CONST, constant=0.0))

    def _slot(self, what: str, number: int, slot: Slot) -> int:
        found = self.numbers.setdefault((what, number), len(self.slots))
        if found == len(self.slots):
            self.slots.append(slot)
        return found
