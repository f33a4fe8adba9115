"""A program as data: phases of stages of small steps and tile passes, and its encoding for the native library.

    program = phases; phase = channel steps (all samples are done with the phase before), then for every sample its
    stages; stage = row steps of the sample, then one pass over the sample's elements in tiles.

Slots are the small values: one number, C numbers or B x C numbers. Registers exist only inside a pass: x, gy, out,
tile buffers, slots that are read, accumulators.
"""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from evonorm.kernels.cpu.opcodes import NUMBERS
from evonorm.kernels.plan.values import Kind

MAGIC = 0x45564F4E
FORMAT = 1
MOMENTS = {"mean": 0, "rms": 1, "std": 2}
INDEX_SETS = {"bwh": 0, "whc": 1, "wh": 2, "whcg": 3}
STEP_FIELDS = 10
REGISTER_X, REGISTER_GY, REGISTER_OUT, FIRST_TEMPORARY = range(4)


class Home(IntEnum):
    """Where a slot's numbers live."""

    CONST = 0
    PARAMETER = 1
    SAVED = 2  # kept from forward to backward
    SCRATCH = 3
    GRAD = 4
    EXPORT = 5


class Mode(IntEnum):
    """What an instruction does with its result."""

    WRITE = 0
    ADD = 1
    REDUCE = 2  # add up over the elements of a (sample, channel) into an accumulator


class StepType(IntEnum):
    """What a step does with rows of slots."""

    ELEMENTWISE = 0
    SAMPLE_MOMENT = 1
    BATCH_MOMENT = 2
    SAMPLE_ADJOINT = 3
    BATCH_ADJOINT = 4
    SUM_BATCH = 5


@dataclass(frozen=True)
class Slot:
    """A small value's place."""

    kind: Kind
    home: Home
    index: int = 0  # which parameter, gradient or export
    constant: float = 0.0


@dataclass(frozen=True)
class Step:
    """One operation on rows of slots; the meaning of `fields` depends on the type, see `native/program.h`."""

    type: StepType
    fields: tuple[int, ...]


@dataclass(frozen=True)
class Instruction:
    """dst (+)= op(operands) over a tile; registers by number."""

    op: str
    mode: Mode
    dst: int
    operands: tuple[int, ...]


@dataclass(frozen=True)
class MomentOfRegister:
    """Mean and, if `squares`, variance over the plane of what a register holds."""

    register: int
    moment: int
    squares: bool


@dataclass(frozen=True)
class Pass:
    """One walk over a sample. Registers: x, gy, out, `temporaries` buffers, then loads, then accumulators."""

    instructions: tuple[Instruction, ...]
    temporaries: int
    loads: tuple[int, ...]  # slots
    accumulators: tuple[tuple[int, Mode], ...]  # slots, and whether the row is written or added to
    moments: tuple[MomentOfRegister, ...]

    @property
    def writes_out(self) -> bool:
        return any(i.dst == REGISTER_OUT for i in self.instructions)

    @property
    def adds_to_out(self) -> bool:
        """Whether it reads what an earlier pass left in out."""
        first = next((i for i in self.instructions if REGISTER_OUT in (i.dst, *i.operands)), None)
        return first is not None and (first.mode == Mode.ADD or REGISTER_OUT in first.operands)

    def reads(self, register: int) -> bool:
        read = {r for i in self.instructions for r in i.operands} | {m.register for m in self.moments}
        return register in read


@dataclass
class SampleStage:
    """Row steps of a sample, then perhaps a pass over its elements."""

    rows: list[Step] = field(default_factory=list)
    tiles: Pass | None = None


@dataclass
class Phase:
    """Channel steps, once all samples are through the phase before; then the stages of every sample."""

    channels: list[Step] = field(default_factory=list)
    stages: list[SampleStage] = field(default_factory=list)


@dataclass(frozen=True)
class Program:
    """Forward and backward of one layer, ready for the library."""

    slots: tuple[Slot, ...]
    forward: tuple[Phase, ...]
    backward: tuple[Phase, ...]
    moments: int  # how many values have their moments accumulated
    parameters: tuple[str, ...]  # what Home.PARAMETER counts: names, "moving0", ...
    gradients: tuple[str, ...]  # what Home.GRAD counts
    export_rows: tuple[int, ...]  # for each batch moment of the graph, the export that holds it
    eps: float

    @property
    def exports(self) -> int:
        return 1 + max(self.export_rows, default=-1)

    @property
    def writes_grad_x(self) -> bool:
        """False for a layer that does not depend on x: its gradient is zero."""
        stages = [stage for phase in self.backward for stage in phase.stages]
        return any(stage.tiles is not None and stage.tiles.writes_out for stage in stages)

    @property
    def saved_kinds(self) -> tuple[Kind, ...]:
        return tuple(slot.kind for slot in self.slots if slot.home == Home.SAVED)

    def encode(self) -> bytes:
        words = [MAGIC, FORMAT, self.moments, len(self.parameters), len(self.gradients), self.exports]
        words += [_float_bits(self.eps), len(self.slots)]
        for slot in self.slots:
            words += [slot.kind, slot.home, slot.index, _float_bits(slot.constant)]
        for phases in (self.forward, self.backward):
            words.append(len(phases))
            for phase in phases:
                words += _encode_phase(phase)
        return np.array(words, dtype=np.int32).tobytes()


def _float_bits(number: float) -> int:
    return int(np.float32(number).view(np.int32))


def _encode_phase(phase: Phase) -> list[int]:
    words = [*_encode_steps(phase.channels), len(phase.stages)]
    for stage in phase.stages:
        words += _encode_steps(stage.rows)
        words += [0] if stage.tiles is None else [1, *_encode_pass(stage.tiles)]
    return words


def _encode_steps(steps: list[Step]) -> list[int]:
    words = [len(steps)]
    for step in steps:
        assert len(step.fields) < STEP_FIELDS
        words += [step.type, *step.fields, *[-1] * (STEP_FIELDS - 1 - len(step.fields))]
    return words


def _encode_pass(tiles: Pass) -> list[int]:
    words = [tiles.temporaries, len(tiles.loads), *tiles.loads, len(tiles.accumulators)]
    for slot, mode in tiles.accumulators:
        words += [slot, mode]
    words.append(len(tiles.moments))
    for each in tiles.moments:
        words += [each.register, each.moment, each.squares]
    words += [tiles.writes_out, tiles.adds_to_out, len(tiles.instructions)]
    for i in tiles.instructions:
        words += [NUMBERS[i.op], i.mode, i.dst, *i.operands, *[-1] * (4 - len(i.operands))]
    return words
