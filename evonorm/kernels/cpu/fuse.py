"""Pairs of instructions become one, so that a value need not go through a tile buffer: every rule is about opcodes.

An instruction goes into the one that reads its result if nobody else does; two sums into the same register become one.
"""

from collections import Counter

from evonorm.kernels.cpu.program import Mode
from evonorm.kernels.cpu.tiles import Symbol, SymbolicInstruction, SymbolicMoment

# (inner, outer, which operand of the outer is the inner's result) -> one instruction: inner operands, then the others
PAIRS: dict[tuple[str, str, int], str] = {
    ("mul", "sigmoid", 0): "sigmoid_mul",
    ("mul", "mul", 0): "mul_mul",
    ("mul", "mul", 1): "mul_mul",
    ("mul", "fma", 0): "mul_fma",
    ("mul", "fma", 1): "mul_fma",
    ("div_plain", "fma", 0): "div_fma",
    ("div_plain", "fma", 1): "div_fma",
    ("max", "fma", 0): "max_fma",
    ("max", "fma", 1): "max_fma",
    ("max", "recip_plain", 0): "recip_max",
    ("max", "div_plain", 1): "div_max",
    ("fma", "max", 0): "fma_max",
    ("fma", "max", 1): "fma_max",
    ("add", "max", 0): "add_max",
    ("add", "max", 1): "add_max",
    ("sub", "max", 0): "sub_max",
    ("sub", "max", 1): "sub_max",
    ("sub", "mul", 0): "sub_mul",
    ("sub", "mul", 1): "sub_mul",
    ("sub_mul", "max", 0): "sub_mul_max",
    ("sub_mul", "max", 1): "sub_mul_max",
    ("mul", "sigmoid_grad", 0): "mul_sigmoid_grad",
    ("mul", "tanh_grad", 0): "mul_tanh_grad",
    ("mul", "max_grad", 0): "mul_max_grad",
}
# two results that are added into one register -> one instruction with the operands of both
SUMS: dict[tuple[str, str], str] = {("mul", "mul"): "mul_add_mul", ("copy", "copy"): "add", ("mul", "copy"): "fma"}


def fuse(code: list[SymbolicInstruction], moments: list[SymbolicMoment]) -> list[SymbolicInstruction]:
    """The same results with fewer instructions."""
    kept = {each.source for each in moments}
    position = 0
    while position < len(code):
        fused = _into_reader(code, position, kept) or _into_sum(code, position)
        if fused is None:
            position += 1
        else:
            code, position = fused, max(0, position - 1)
    return code


def _into_reader(code: list[SymbolicInstruction], position: int, kept: set[Symbol]) -> list[SymbolicInstruction] | None:
    inner = code[position]
    if inner.mode != Mode.WRITE or inner.dst in kept or inner.dst[0] in ("out", "accumulator"):
        return None
    uses = Counter(symbol for i in code for symbol in (i.dst, *i.operands))
    if uses[inner.dst] != 2:  # written once, read once
        return None
    reader = next(n for n in range(position + 1, len(code)) if inner.dst in code[n].operands)
    outer = code[reader]
    if _written_between(code, position, reader, inner.operands):
        return None
    place = outer.operands.index(inner.dst)
    op = inner.op if outer.op == "copy" else PAIRS.get((inner.op, outer.op, place))
    if op is None:
        return None
    others = (*outer.operands[:place], *outer.operands[place + 1 :])
    merged = SymbolicInstruction(op, outer.mode, outer.dst, (*inner.operands, *others))
    return [*code[:position], *code[position + 1 : reader], merged, *code[reader + 1 :]]


def _into_sum(code: list[SymbolicInstruction], position: int) -> list[SymbolicInstruction] | None:
    first = code[position]
    later = [n for n in range(position + 1, len(code)) if first.dst in (code[n].dst, *code[n].operands)]
    if first.mode == Mode.REDUCE or not later:
        return None
    second = code[later[0]]
    if second.mode != Mode.ADD or first.dst in second.operands or first.dst != second.dst:
        return None
    pair = (first, second) if (first.op, second.op) in SUMS else (second, first)
    op = SUMS.get((pair[0].op, pair[1].op))
    if op is None or _written_between(code, position, later[0], first.operands):
        return None
    merged = SymbolicInstruction(op, first.mode, first.dst, (*pair[0].operands, *pair[1].operands))
    return [*code[:position], *code[position + 1 : later[0]], merged, *code[later[0] + 1 :]]


def _written_between(code: list[SymbolicInstruction], first: int, last: int, symbols: tuple[Symbol, ...]) -> bool:
    return any(code[n].dst in symbols for n in range(first + 1, last))
