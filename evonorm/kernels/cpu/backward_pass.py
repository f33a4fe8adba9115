"""The instructions of one backward pass over the elements of a sample."""

from typing import TYPE_CHECKING

from evonorm.kernels.cpu.forward import full_symbol
from evonorm.kernels.cpu.fuse import fuse
from evonorm.kernels.cpu.program import Mode, Pass
from evonorm.kernels.cpu.tiles import GY, OUT, Symbol, SymbolicInstruction, accumulator_symbol, allocate, slot_symbol
from evonorm.kernels.plan.adjoints import ADJOINTS, DIVISIONS, divisor_adjoint
from evonorm.kernels.plan.flows import summed_uses, with_full_users
from evonorm.kernels.plan.levels import Level

if TYPE_CHECKING:
    from evonorm.kernels.cpu.backward import Backward


class BackwardPass:
    """Adjoints flow from gy down to what is complete at this level: sums for small values, parts of grad_x."""

    def __init__(self, backward: "Backward", level: Level) -> None:
        self.backward, self.plan, self.level = backward, backward.plan, level
        self.code: list[SymbolicInstruction] = []
        self.holds: set[Symbol] = {OUT} if backward.wrote_out else set()
        self.values_needed: set[int] = set()
        self.reciprocals: set[int] = set()
        self.accumulator_modes: dict[int, Mode] = {}

    def build(self) -> Pass | None:
        """The pass, or None if nothing completes here."""
        backward = self.backward
        self.reduced = summed_uses(self.plan, self.level)
        if not self.reduced and (self.plan.x is None or backward.levels.get(self.plan.x) != self.level):
            return None
        self.now = [use for use in backward.pending if backward.levels[use[0]] <= self.level]
        backward.pending = [use for use in backward.pending if use not in self.now]
        self.required = self._required()
        for number in sorted(self.required, reverse=True):
            self._flow_into(number)
            self._flow_out_of(number)
        for user, _ in self.now:
            if self.plan.values[user].op == "moment":
                self._from_moment(user, self.plan.x)
        backward.wrote_out = OUT in self.holds
        return allocate(fuse(self._value_code() + self.code, []), [], self.accumulator_modes)

    def _required(self) -> set[int]:
        """Full values whose adjoint is needed here: with all full users, up to the output."""
        starts = [number for number, _ in self.reduced] + [user for user, _ in self.now if self.plan.is_full(user)]
        return with_full_users(self.plan, starts)

    def _flow_into(self, number: int) -> None:
        for user, _ in self.plan.users[number]:
            if self.plan.values[user].op == "moment" and user in self.backward.levels:
                self._from_moment(user, number)

    def _flow_out_of(self, number: int) -> None:
        value = self.plan.values[number]
        targets = [(position, self._target(number, position)) for position in range(len(value.inputs))]
        wanted = {position: target for position, target in targets if target is not None}
        if value.op in DIVISIONS:
            self._flow_out_of_division(number, wanted)
            return
        for position, target in wanted.items():
            op, reads = ADJOINTS[value.op][position]
            others = [self._value(number if r == "v" else value.inputs["abc".index(r)]) for r in reads]
            self._emit(op, target, self._adjoint(number), *others)

    def _flow_out_of_division(self, number: int, wanted: dict[int, Symbol]) -> None:
        """q = a / b with r = 1 / b: into a flows h = g * r, into b -h * q."""
        g, r = self._adjoint(number), ("reciprocal", number)
        self.reciprocals.add(number)
        h: Symbol = ("quotient adjoint", number)
        if 1 not in wanted:
            self._emit("mul", wanted[0], g, r)
            return
        if 0 in wanted and wanted[0] not in self.holds and wanted[0][0] != "accumulator":
            h = wanted[0]  # the first that flows into a is h itself
            self._emit("mul", h, g, r)
        else:
            self._emit("mul", h, g, r)
            if 0 in wanted:
                self._emit("copy", wanted[0], h)
        divisor = self.plan.values[number].inputs[1]
        op = divisor_adjoint(self.plan.values[divisor])
        guard = [self._value(divisor)] if op == "neg_mul_guarded" else []
        self._emit(op, wanted[1], h, self._value(number), *guard)

    def _target(self, number: int, position: int) -> Symbol | None:
        """The register that what flows into this input is added to, if that happens in this pass."""
        i = self.plan.values[number].inputs[position]
        if i == self.plan.x:
            return OUT if (number, position) in self.now else None
        if self.plan.is_full(i):
            return self._adjoint(i) if i in self.required else None
        if (number, position) not in self.reduced:
            return None
        slot = self.backward.slots.adjoint_rows(i)
        if slot not in self.accumulator_modes:
            self.accumulator_modes[slot] = self.backward.mode_for(slot)
        return accumulator_symbol(slot)

    def _from_moment(self, moment: int, number: int | None) -> None:
        assert number is not None
        value, slots = self.plan.values[moment], self.backward.slots
        target = self._adjoint(number)
        coefficient = slot_symbol(slots.coefficient(moment))
        if value.moment == "mean":
            self._emit("copy", target, coefficient)
        elif value.moment == "rms":
            self._emit("mul", target, self._value(number), coefficient)
        else:  # t - mean first: their difference is exact where it matters, products would cancel
            self._emit("sub_mul", target, self._value(number), slot_symbol(slots.mean(moment)), coefficient)

    def _adjoint(self, number: int) -> Symbol:
        if number == self.plan.output:
            return GY
        return OUT if number == self.plan.x else ("adjoint", number)

    def _value(self, number: int) -> Symbol:
        if not self.plan.is_full(number):
            return slot_symbol(self.backward.small_value(number))
        self.values_needed.add(number)
        return full_symbol(self.plan, number)

    def _emit(self, op: str, dst: Symbol, *operands: Symbol) -> None:
        if dst[0] == "accumulator":
            mode = Mode.REDUCE
        else:
            mode = Mode.ADD if dst in self.holds else Mode.WRITE
            self.holds.add(dst)
        self.code.append(SymbolicInstruction(op, mode, dst, operands))

    def _value_code(self) -> list[SymbolicInstruction]:
        """The values that adjoints read, computed again; a quotient is formed with the reciprocal it shares."""
        divisors = [self.plan.values[number].inputs[1] for number in self.reciprocals]
        read = self.plan.full_closure([*self.values_needed, *divisors])
        code = []
        for number in sorted({*read, *self.reciprocals}):
            value, shared = self.plan.values[number], number in self.reciprocals
            if shared:
                op = "recip_plain" if value.op == "div_plain" else "recip"
                divisor = self._value(value.inputs[1])
                code.append(SymbolicInstruction(op, Mode.WRITE, ("reciprocal", number), (divisor,)))
            if number not in read:
                continue
            op, inputs = value.op, [self._value(i) for i in value.inputs]
            if shared and not self._must_be_exact(number):
                op, inputs[1] = "mul", ("reciprocal", number)
            code.append(SymbolicInstruction(op, Mode.WRITE, full_symbol(self.plan, number), tuple(inputs)))
        return code

    def _must_be_exact(self, number: int) -> bool:
        """Whether a quotient must be a true division: forward's very value for t - mean, and 1 for x / max(x, ...)."""
        numerator, divisor = self.plan.values[number].inputs
        above = {n for n in (numerator, *self.plan.values[numerator].inputs) if self.plan.is_full(n)}
        divides_itself = bool(above & {divisor, *self.plan.values[divisor].inputs})
        return divides_itself or not self.plan.is_full(divisor) or number in self.plan.behind_moments
