"""The forward program: which values in which pass. When a value is complete is the plan's, see `plan/levels.py`."""

from evonorm.kernels.cpu.fuse import fuse
from evonorm.kernels.cpu.opcodes import NUMBERS
from evonorm.kernels.cpu.program import INDEX_SETS, MOMENTS, Mode, Phase, SampleStage, Step, StepType
from evonorm.kernels.cpu.slots import Slots
from evonorm.kernels.cpu.tiles import OUT, Symbol, SymbolicInstruction, SymbolicMoment, X, allocate, slot_symbol
from evonorm.kernels.plan.levels import Level
from evonorm.kernels.plan.plan import Export, Plan
from evonorm.kernels.plan.values import Kind


class Forward:
    """Builds the forward phases; `moment_numbers` says which accumulated moment belongs to which full value."""

    def __init__(self, plan: Plan, slots: Slots) -> None:
        self.plan, self.slots = plan, slots
        self.levels = plan.forward_levels
        self.moment_numbers = {source: number for number, source in enumerate(plan.moment_sources)}

    def phases(self) -> list[Phase]:
        count = 1 + max(level[0] for level in self.levels)
        return [self._phase(phase) for phase in range(count)]

    def _phase(self, phase: int) -> Phase:
        small = [n for n, v in enumerate(self.plan.values) if v.kind < Kind.FULL and v.inputs]
        channels = [
            step
            for number in small
            if self.plan.values[number].kind < Kind.SAMPLE and self.levels[number][0] == phase
            for step in self.small_steps(number)
        ]
        channels += self._exports_of_constants(phase)
        last_stage = max((level[1] for level in self.levels if level[0] == phase), default=0)
        stages = [self._stage((phase, stage), small) for stage in range(last_stage + 1)]
        return Phase(channels, stages)

    def _stage(self, level: Level, small: list[int]) -> SampleStage:
        rows = [
            step
            for number in small
            if self.plan.values[number].kind == Kind.SAMPLE and self.levels[number] == level
            for step in self.small_steps(number)
        ]
        moments = [
            SymbolicMoment(full_symbol(self.plan, source), moment, self.plan.needs_squares(source))
            for source, moment in self.moment_numbers.items()
            if self.levels[source] == level
        ]
        needed = [source for source in self.moment_numbers if self.levels[source] == level]
        if self.levels[self.plan.output] == level:
            needed.append(self.plan.output)
        if not needed:
            return SampleStage(rows)
        return SampleStage(rows, allocate(fuse(value_code(self.plan, self.slots, needed), moments), moments, {}))

    def small_steps(self, number: int) -> list[Step]:
        """How one small value is computed, in a row step or a channel step."""
        value = self.plan.values[number]
        if value.op != "moment":
            return [elementwise_step(value.op, Mode.WRITE, self.slots.value(number), self._operands(number))]
        source = value.inputs[0]
        full = self.plan.is_full(source)
        batch = value.index_set == "bwh"
        export = Export(value.moment, number, of_constant=False)
        row = self.plan.export_rows[self.plan.exports.index(export)] if export in self.plan.exports else None
        fields = (
            MOMENTS[value.moment],
            INDEX_SETS[value.index_set],
            self.slots.value(number),
            self.slots.mean(number) if value.moment == "std" else -1,
            self.moment_numbers[source] if full else -1,
            -1 if full else self.slots.value(source),
            -1 if row is None else self.slots.export(row),
        )
        return [Step(StepType.BATCH_MOMENT if batch else StepType.SAMPLE_MOMENT, fields)]

    def _operands(self, number: int) -> list[int]:
        return [self.slots.value(i) for i in self.plan.values[number].inputs]

    def _exports_of_constants(self, phase: int) -> list[Step]:
        """Raw moments over the batch of values that do not vary over it: v, v squared, 0."""
        steps: dict[int, Step] = {}
        for export, row in zip(self.plan.exports, self.plan.export_rows, strict=True):
            if not export.of_constant or self.levels[export.source][0] != phase:
                continue
            source = self.slots.zero() if export.moment == "std" else self.slots.value(export.source)
            op = "square" if export.moment == "rms" else "copy"
            steps[row] = elementwise_step(op, Mode.WRITE, self.slots.export(row), [source])
        return list(steps.values())


def elementwise_step(op: str, mode: Mode, dst: int, operands: list[int]) -> Step:
    padded = [*operands, *[-1] * (4 - len(operands))]
    return Step(StepType.ELEMENTWISE, (NUMBERS[op], mode, dst, *padded))


def full_symbol(plan: Plan, number: int) -> Symbol:
    """The register of a full value: x is read where it lies, the output is written where it belongs."""
    if plan.values[number].op == "x":
        return X
    return OUT if number == plan.output else ("value", number)


def operand_symbol(plan: Plan, slots: Slots, number: int) -> Symbol:
    if plan.values[number].kind == Kind.FULL:
        return full_symbol(plan, number)
    return slot_symbol(slots.value(number))


def value_code(plan: Plan, slots: Slots, needed: list[int]) -> list[SymbolicInstruction]:
    return [
        SymbolicInstruction(
            plan.values[number].op,
            Mode.WRITE,
            full_symbol(plan, number),
            tuple(operand_symbol(plan, slots, i) for i in plan.values[number].inputs),
        )
        for number in plan.full_closure(needed)
    ]
