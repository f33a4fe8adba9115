"""One tile pass: symbolic instructions in, numbered registers out. Buffers are reused after their last use."""

from collections.abc import Hashable
from dataclasses import dataclass

from evonorm.kernels.cpu.program import (
    FIRST_TEMPORARY,
    REGISTER_GY,
    REGISTER_OUT,
    REGISTER_X,
    Instruction,
    Mode,
    MomentOfRegister,
    Pass,
)

Symbol = tuple[Hashable, ...]
X: Symbol = ("x",)
GY: Symbol = ("gy",)
OUT: Symbol = ("out",)
FIXED = {X: REGISTER_X, GY: REGISTER_GY, OUT: REGISTER_OUT}


def slot_symbol(slot: int) -> Symbol:
    return ("slot", slot)


def accumulator_symbol(slot: int) -> Symbol:
    return ("accumulator", slot)


@dataclass(frozen=True)
class SymbolicInstruction:
    """An instruction before its registers have numbers."""

    op: str
    mode: Mode
    dst: Symbol
    operands: tuple[Symbol, ...]


@dataclass(frozen=True)
class SymbolicMoment:
    """A moment to be accumulated of what a register will hold."""

    source: Symbol
    moment: int
    squares: bool


def allocate(
    code: list[SymbolicInstruction], moments: list[SymbolicMoment], accumulator_modes: dict[int, Mode]
) -> Pass:
    """Registers for a pass. A result may take the buffer of an operand that dies with it: ops are element-wise."""
    last_use: dict[Symbol, int] = {}
    for position, instruction in enumerate(code):
        last_use.update(dict.fromkeys((instruction.dst, *instruction.operands), position))
    last_use.update({each.source: len(code) for each in moments})
    loads = _in_order(code, moments, "slot")
    accumulators = _in_order(code, moments, "accumulator")
    buffers, count = _assign_buffers(code, last_use)
    registers: dict[Symbol, int] = {symbol: FIRST_TEMPORARY + buffer for symbol, buffer in buffers.items()}
    for symbol in (*loads, *accumulators):
        registers[symbol] = FIRST_TEMPORARY + count + len(registers) - len(buffers)
    registers.update(FIXED)
    return Pass(
        tuple(Instruction(i.op, i.mode, registers[i.dst], tuple(registers[o] for o in i.operands)) for i in code),
        count,
        tuple(_slot_of(symbol) for symbol in loads),
        tuple((_slot_of(symbol), accumulator_modes[_slot_of(symbol)]) for symbol in accumulators),
        tuple(MomentOfRegister(registers[each.source], each.moment, each.squares) for each in moments),
    )


def _slot_of(symbol: Symbol) -> int:
    slot = symbol[1]
    assert isinstance(slot, int)
    return slot


def _in_order(code: list[SymbolicInstruction], moments: list[SymbolicMoment], sort: str) -> list[Symbol]:
    symbols = [symbol for i in code for symbol in (i.dst, *i.operands)] + [each.source for each in moments]
    return list(dict.fromkeys(symbol for symbol in symbols if symbol[0] == sort))


def _assign_buffers(code: list[SymbolicInstruction], last_use: dict[Symbol, int]) -> tuple[dict[Symbol, int], int]:
    buffers: dict[Symbol, int] = {}
    free: list[int] = []
    count = 0
    for position, instruction in enumerate(code):
        dying = {o for o in instruction.operands if o in buffers and last_use[o] == position and o != instruction.dst}
        free += sorted((buffers[o] for o in dying), reverse=True)
        dst = instruction.dst
        if dst in FIXED or dst[0] in ("slot", "accumulator"):
            continue
        if dst not in buffers:
            if not free:
                free, count = [count], count + 1
            buffers[dst] = free.pop()
        if last_use[dst] == position:
            free.append(buffers[dst])
    return buffers, count
