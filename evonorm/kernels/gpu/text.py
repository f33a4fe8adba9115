"""The frame of each shape of kernel: which program does what, and the loops around the lines of a `Scope`.

A pass has one program for a block of channels in a slice of a sample's plane. A kernel of rows has one for a sample's
channels that belong together, a span: a group, all of them, or any. A kernel of channels has one for a block of them in
all samples. What the shapes share are the names `channel`, `sample`, `present` and `in_channels`.
"""

from dataclasses import dataclass

from evonorm.kernels.gpu.scope import Scope

SIZES = ("B", "C", "P", "S", "SLICE", "CPG")
INDENT = "    "
PASS, ROWS, CHANNELS = "pass", "rows", "channels"

FRAMES = {
    PASS: """\
blocks = tl.cdiv(C, BLOCK_C)
program = tl.program_id(0)
channel = (program % blocks) * BLOCK_C + tl.arange(0, BLOCK_C)[:, None]
sample = (program // blocks // S).to(tl.int64)
first = (program // blocks % S) * SLICE
last = tl.minimum(first + SLICE, P)
in_channels = channel < C
present = in_channels
""",
    ROWS: """\
blocks = tl.cdiv(SPANS, BLOCK_SPANS)
program = tl.program_id(0)
span = (program % blocks) * BLOCK_SPANS + tl.arange(0, BLOCK_SPANS)[:, None]
member = tl.arange(0, BLOCK_SPAN)[None, :]
channel = span * SPAN + member
sample = (program // blocks).to(tl.int64)
in_channels = (span < SPANS) & (member < SPAN)
present = in_channels
""",
    CHANNELS: """\
channel = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)[None, :]
in_channels = channel < C
""",
}
CONSTANTS = {
    PASS: ("CHANNELS_LAST", "BLOCK_C", "BLOCK_P"),
    ROWS: ("BLOCK_SPANS", "BLOCK_SPAN"),
    CHANNELS: ("BLOCK_ROWS", "BLOCK_C"),
}
SUM_SHAPES = {PASS: "(BLOCK_C, 1)", ROWS: "(BLOCK_SPANS, BLOCK_SPAN)", CHANNELS: "(1, BLOCK_C)"}
SPLIT_LOOPS = {
    ROWS: """\
stride = tl.full((), 1, tl.int64) * B * S * C
for split in range(0, S):
    size = tl.minimum(SLICE, P - split * SLICE).to(tl.float32)
    seen = (split * SLICE).to(tl.float32)
    at = (sample * S + split) * C + channel
    valid = in_channels
""",
    CHANNELS: """\
stride = tl.full((), 1, tl.int64) * B * S * C
seen = tl.zeros((1, BLOCK_C), tl.float32)
for start in range(0, B * S, BLOCK_ROWS):
    row = start + tl.arange(0, BLOCK_ROWS)[:, None]
    valid = (row < B * S) & in_channels
    size = tl.minimum(SLICE, P - row % S * SLICE).to(tl.float32)
    at = row.to(tl.int64) * C + channel
""",
}
LOOPS = {
    PASS: """\
for start in range(first, last, BLOCK_P):
    place = start + tl.arange(0, BLOCK_P)[None, :]
    valid = in_channels & (place < last)
    if CHANNELS_LAST:
        at = sample * C * P + place * C + channel
    else:
        at = sample * C * P + channel * P + place
    size = tl.minimum(BLOCK_P, last - start).to(tl.float32)
    seen = (start - first).to(tl.float32)
""",
    CHANNELS: """\
seen = tl.zeros((1, BLOCK_C), tl.float32)
for start in range(0, B, BLOCK_ROWS):
    sample = (start + tl.arange(0, BLOCK_ROWS)[:, None]).to(tl.int64)
    present = (sample < B) & in_channels
    size = tl.full((BLOCK_ROWS, 1), 1.0, tl.float32) * P
""",
}
SEEN_ROWS = "seen += tl.sum(tl.where({mask}, size, 0.0), axis=0, keep_dims=True)"


@dataclass(frozen=True)
class KernelText:
    """One kernel: its shape, its text, and what it is called with.

    Attributes:
        pointers: the tensors among its arguments, in order; sizes and block sizes follow.
        full_values: how many values and adjoints of x's size a pass computes.
        ties: for a kernel of rows, the index sets whose channels must be in one program.
        exchange: rows that other ranks have their share in, where moments are of all ranks: kept ones as (mean,
            variance), (mean,) or (square,), or adjoints one by one.
    """

    name: str
    shape: str
    pointers: tuple[str, ...]
    text: str
    full_values: int
    ties: frozenset[str]
    exchange: tuple[tuple[int, ...], ...]


def kernel_text(
    scope: Scope,
    name: str,
    shape: str,
    purpose: str,
    *,
    ties: frozenset[str] = frozenset(),
    exchange: tuple[tuple[int, ...], ...] = (),
) -> KernelText:
    """The scope's lines inside the frame of a shape."""
    body = FRAMES[shape].splitlines()
    body += [f"{each} = tl.zeros({SUM_SHAPES[shape]}, tl.float32)" for each in scope.sums]
    if scope.splits:
        body += _loop(SPLIT_LOOPS[shape], scope.splits, "valid" if shape == CHANNELS else None)
    body += scope.once
    if scope.each:
        body += _loop(LOOPS[shape], scope.each, "present" if shape == CHANNELS else None)
    body += scope.after
    pointers = tuple(scope.pointers)
    sizes = SIZES + (("SPANS", "SPAN") if shape == ROWS else ())
    constants = CONSTANTS[shape]
    head = ", ".join((*pointers, *sizes, *(f"{each}: tl.constexpr" for each in constants)))
    lines = ["@triton.jit", f"def {name}({head}):", f'{INDENT}"""{purpose}"""']
    text = "\n".join([*lines, *(INDENT + line for line in body)]) + "\n"
    return KernelText(name, shape, pointers, text, scope.full_values, ties, exchange)


def _loop(head: str, lines: list[str], mask: str | None) -> list[str]:
    """Over rows of several samples `seen` counts elements, since their number differs from row to row."""
    words = "\n".join(lines)
    if mask and "seen" in words:
        lines = [*lines, SEEN_ROWS.format(mask=mask)]
        words += lines[-1]
    unused = [name for name in ("size", "seen", "stride") if name not in words]
    kept = [line for line in head.splitlines() if line.strip().split(" = ")[0] not in unused]
    return [*kept, *(INDENT + line for line in lines)]
