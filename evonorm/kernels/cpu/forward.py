"""The forward program: which values in which pass.

Level (phase, stage) of a value: a moment over the batch of something that varies opens a new phase, since all samples
must be through; a moment inside a sample opens a new stage, so that a thread runs all stages of one sample while it is
in cache.
"""

from evonorm.kernels.cpu.fuse import fuse
from evonorm.kernels.cpu.opcodes import NUMBERS
from evonorm.kernels.cpu.program import INDEX_SETS, MOMENTS, Mode, Phase, Stage, Step, StepType
from evonorm.kernels.cpu.slots import Slots
from evonorm.kernels.cpu.tiles import OUT, Symbol, SymbolicInstruction, SymbolicMoment, X, allocate, slot_symbol
from evonorm.kernels.plan.rewrite import Export, Typed
from evonorm.kernels.plan.values import Kind

Level = tuple[int, int]


def forward_levels(typed: Typed) -> list[Level]:
    levels: list[Level] = []
    for value in typed.values:
        level = max((levels[i] for i in value.inputs), default=(0, 0))
        if value.op == "moment":
            source = typed.values[value.inputs[0]]
            if value.index_set == "bwh":
                level = (level[0] + 1, 0)
            elif source.kind == Kind.FULL:
                level = (level[0], level[1] + 1)
        levels.append(level)
    return levels


class Forward:
    """Builds the forward phases; `moment_numbers` says which accumulated moment belongs to which full value."""

    def __init__(self, typed: Typed, slots: Slots) -> None:
        self.typed, self.slots = typed, slots
        self.levels = forward_levels(typed)
        self.moment_numbers: dict[int, int] = {}
        for value in typed.values:
            if value.op == "moment" and typed.values[value.inputs[0]].kind == Kind.FULL:
                self.moment_numbers.setdefault(value.inputs[0], len(self.moment_numbers))
        self.export_rows = self._number_exports()

    def _number_exports(self) -> tuple[int, ...]:
        rows: dict[Export, int] = {}
        return tuple(rows.setdefault(export, len(rows)) for export in self.typed.exports)

    def phases(self) -> list[Phase]:
        count = 1 + max(level[0] for level in self.levels)
        return [self._phase(phase) for phase in range(count)]

    def _phase(self, phase: int) -> Phase:
        small = [n for n, v in enumerate(self.typed.values) if v.kind < Kind.FULL and v.inputs]
        channels = [
            step
            for number in small
            if self.typed.values[number].kind < Kind.SAMPLE and self.levels[number][0] == phase
            for step in self.small_steps(number)
        ]
        channels += self._exports_of_constants(phase)
        last_stage = max((level[1] for level in self.levels if level[0] == phase), default=0)
        stages = [self._stage((phase, stage), small) for stage in range(last_stage + 1)]
        return Phase(channels, stages)

    def _stage(self, level: Level, small: list[int]) -> Stage:
        rows = [
            step
            for number in small
            if self.typed.values[number].kind == Kind.SAMPLE and self.levels[number] == level
            for step in self.small_steps(number)
        ]
        moments = [
            SymbolicMoment(full_symbol(self.typed, source), moment, self._needs_squares(source))
            for source, moment in self.moment_numbers.items()
            if self.levels[source] == level
        ]
        needed = [source for source in self.moment_numbers if self.levels[source] == level]
        if self.levels[self.typed.output] == level:
            needed.append(self.typed.output)
        if not needed:
            return Stage(rows)
        return Stage(rows, allocate(fuse(value_code(self.typed, self.slots, needed), moments), moments, {}))

    def _needs_squares(self, source: int) -> bool:
        return any(self.typed.values[user].moment in ("rms", "std") for user, _ in self.typed.users[source])

    def small_steps(self, number: int) -> list[Step]:
        """How one small value is computed, in a row step or a channel step."""
        value = self.typed.values[number]
        if value.op != "moment":
            return [elementwise_step(value.op, Mode.WRITE, self.slots.value(number), self._operands(number))]
        source = value.inputs[0]
        full = self.typed.values[source].kind == Kind.FULL
        batch = value.index_set == "bwh"
        export = Export(value.moment, number, of_constant=False)
        row = self.export_rows[self.typed.exports.index(export)] if export in self.typed.exports else None
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
        return [self.slots.value(i) for i in self.typed.values[number].inputs]

    def _exports_of_constants(self, phase: int) -> list[Step]:
        """Raw moments over the batch of values that do not vary over it: v, v squared, 0."""
        steps: dict[int, Step] = {}
        for export, row in zip(self.typed.exports, self.export_rows, strict=True):
            if not export.of_constant or self.levels[export.source][0] != phase:
                continue
            source = self.slots.zero() if export.moment == "std" else self.slots.value(export.source)
            op = "square" if export.moment == "rms" else "copy"
            steps[row] = elementwise_step(op, Mode.WRITE, self.slots.export(row), [source])
        return list(steps.values())


def elementwise_step(op: str, mode: Mode, dst: int, operands: list[int]) -> Step:
    padded = [*operands, *[-1] * (4 - len(operands))]
    return Step(StepType.ELEMENTWISE, (NUMBERS[op], mode, dst, *padded))


def full_symbol(typed: Typed, number: int) -> Symbol:
    """The register of a full value: x is read where it lies, the output is written where it belongs."""
    if typed.values[number].op == "x":
        return X
    return OUT if number == typed.output else ("value", number)


def operand_symbol(typed: Typed, slots: Slots, number: int) -> Symbol:
    if typed.values[number].kind == Kind.FULL:
        return full_symbol(typed, number)
    return slot_symbol(slots.value(number))


def full_closure(typed: Typed, needed: list[int]) -> list[int]:
    """The full values, other than x, that the needed ones are computed from, in order."""
    found: set[int] = set()
    stack = [n for n in needed if typed.values[n].kind == Kind.FULL and typed.values[n].op != "x"]
    while stack:
        number = stack.pop()
        if number not in found:
            found.add(number)
            inputs = typed.values[number].inputs
            stack += [i for i in inputs if typed.values[i].kind == Kind.FULL and typed.values[i].op != "x"]
    return sorted(found)


def value_code(typed: Typed, slots: Slots, needed: list[int]) -> list[SymbolicInstruction]:
    return [
        SymbolicInstruction(
            typed.values[number].op,
            Mode.WRITE,
            full_symbol(typed, number),
            tuple(operand_symbol(typed, slots, i) for i in typed.values[number].inputs),
        )
        for number in full_closure(typed, needed)
    ]
