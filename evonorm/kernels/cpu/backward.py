"""The backward program: everything is computed again from x, the output's adjoint and the kept moments.

Adjoint of a moment A over a set of N elements, with S = (sum of A's adjoint over the set) / N: every element t gets
    mean: S;   rms: t * S / A;   std: (t - mean) * S / A,
one instruction, with the coefficient S or S / A a small value. What flows into x is added to grad_x in the first pass
in which it is complete, so that the last pass is often just grad_x += (x - mean) * coefficient.
"""

from evonorm.kernels.cpu.backward_pass import BackwardPass
from evonorm.kernels.cpu.forward import elementwise_step
from evonorm.kernels.cpu.program import INDEX_SETS, MOMENTS, Mode, Phase, SampleStage, Step, StepType
from evonorm.kernels.cpu.slots import Slots
from evonorm.kernels.plan.adjoints import ADJOINTS
from evonorm.kernels.plan.levels import Use
from evonorm.kernels.plan.plan import Plan
from evonorm.kernels.plan.values import Kind


class Backward:
    """Builds the backward phases in the order in which they run, so that a first write is known as such."""

    def __init__(self, plan: Plan, slots: Slots) -> None:
        self.plan, self.slots = plan, slots
        self.levels = plan.backward_levels
        self.written: set[int] = set()  # slots of adjoints that hold something
        self.recompute: set[int] = set()  # small values that backward reads
        self.wrote_out = False
        users_of_x = () if plan.x is None else plan.users[plan.x]
        self.pending: list[Use] = [use for use in users_of_x if use[0] in self.levels]

    def phases(self) -> list[Phase]:
        last = max(self.levels.values(), default=(0, 0))
        stages: dict[int, int] = {}
        for phase, stage in [*self.levels.values(), (0, 0)]:
            stages[phase] = max(stages.get(phase, 0), stage)
        phases = [self._phase(phase, stages.get(phase, 0)) for phase in range(last[0] + 1)]
        self._prepend_recomputed(phases[0])
        return phases

    def _phase(self, phase: int, last_stage: int) -> Phase:
        small = [n for n in sorted(self.levels, reverse=True) if self.plan.values[n].kind < Kind.FULL]
        at = {n for n in small if self.levels[n][0] == phase}
        channels = [s for n in small if n in at and self._is_channel(n) for s in self._channel_steps(n)]
        stages = []
        for stage in range(last_stage + 1):
            level = (phase, stage)
            mine = [n for n in small if self.levels[n] == level and not self._is_channel(n)]
            rows = [step for n in mine for step in self._small_steps(n)]
            stages.append(SampleStage(rows, BackwardPass(self, level).build()))
        return Phase(channels, stages)

    def _is_channel(self, number: int) -> bool:
        return self.plan.values[number].kind == Kind.CHANNEL

    def small_value(self, number: int) -> int:
        """The slot of a small value that backward reads; computed again unless it was kept."""
        self.recompute.add(number)
        return self.slots.value(number)

    def mode_for(self, slot: int) -> Mode:
        """WRITE for the first result that goes to an adjoint's slot, ADD afterwards."""
        mode = Mode.ADD if slot in self.written else Mode.WRITE
        self.written.add(slot)
        return mode

    def _channel_steps(self, number: int) -> list[Step]:
        rows, total = self.slots.adjoint_rows(number), self.slots.adjoint(number)
        steps = []
        if rows in self.written:
            steps.append(Step(StepType.SUM_BATCH, (self.mode_for(total), total, rows)))
        return steps + self._small_steps(number)

    def _small_steps(self, number: int) -> list[Step]:
        """From the complete adjoint of a small value to its inputs' adjoints, or to the coefficient of a moment."""
        value = self.plan.values[number]
        adjoint = self.slots.adjoint(number)
        steps = []
        if adjoint not in self.written:
            steps.append(elementwise_step("copy", self.mode_for(adjoint), adjoint, [self.slots.zero()]))
        if value.op == "moment":
            return [*steps, self._moment_step(number, adjoint)]
        for position, i in enumerate(value.inputs):
            if i in self.levels:
                op, reads = ADJOINTS[value.op][position]
                operands = [adjoint, *(self.small_value(number if r == "v" else self._input(number, r)) for r in reads)]
                target = self._small_target(number, i)
                steps.append(elementwise_step(op, self.mode_for(target), target, operands))
        return steps

    def _input(self, number: int, letter: str) -> int:
        return self.plan.values[number].inputs["abc".index(letter)]

    def _small_target(self, user: int, number: int) -> int:
        """A per-channel adjoint collects rows from per-sample users and sums from per-channel ones."""
        both_channel = self._is_channel(user) and self._is_channel(number)
        return self.slots.adjoint(number) if both_channel else self.slots.adjoint_rows(number)

    def _moment_step(self, number: int, adjoint: int) -> Step:
        value = self.plan.values[number]
        source = value.inputs[0]
        small = self.plan.values[source].kind < Kind.FULL and source in self.levels
        target = self._small_target(number, source) if small else -1
        fields = (
            MOMENTS[value.moment],
            INDEX_SETS[value.index_set],
            self.small_value(number),
            self.slots.mean(number) if value.moment == "std" else -1,
            adjoint,
            self.slots.coefficient(number),
            target,
            self.small_value(source) if small else -1,
            self.mode_for(target) if small else -1,
        )
        return Step(StepType.BATCH_ADJOINT if value.index_set == "bwh" else StepType.SAMPLE_ADJOINT, fields)

    def _prepend_recomputed(self, first: Phase) -> None:
        """Small element-wise values that were not kept, before anything reads them."""
        needed: set[int] = set()
        stack = list(self.recompute)
        while stack:
            number = stack.pop()
            if number not in needed and self.plan.values[number].inputs and self.plan.values[number].op != "moment":
                needed.add(number)
                stack += self.plan.values[number].inputs
        channels: list[Step] = []
        rows: list[Step] = []
        for number in sorted(needed):
            value = self.plan.values[number]
            operands = [self.slots.value(i) for i in value.inputs]
            step = elementwise_step(value.op, Mode.WRITE, self.slots.value(number), operands)
            (rows if value.kind == Kind.SAMPLE else channels).append(step)
        first.channels[:0] = channels
        first.stages[0].rows[:0] = rows
