"""How much of a tensor a program takes: block sizes, and into how many slices a sample's plane is cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from evonorm.kernels.gpu.text import CHANNELS, PASS, KernelText
from evonorm.kernels.tensors import CHANNELS_LAST

TILE = 1024  # elements that a program of a pass holds at a time: 8 for each of 128 threads, 16 bytes of fp16
TILE_OF_LONG_PASSES = 512  # where a pass has many values at once, so that they fit into registers
MANY_VALUES = 24
WARPS = 4
LINE = 64  # channels side by side, where these lie side by side: 128 bytes of fp16
ROW_TILE = 512  # numbers that a program of a kernel of rows holds, unless more belong together
CHANNEL_BLOCK, ROW_BLOCK = 16, 128  # of a kernel of channels
PROGRAMS_PER_PROCESSOR = 4


@dataclass(frozen=True)
class Tiling:
    """The pass programs of one call."""

    block_c: int
    block_p: int
    splits: int
    slice: int  # places of the plane that a program walks


def power_of_two(n: int) -> int:
    """The smallest one that is not below n."""
    return 1 << max(0, n - 1).bit_length()


def tile_passes(batch: int, channels: int, plane: int, layout: int, processors: int, tile: int = TILE) -> Tiling:
    """Blocks along what lies side by side, and as many slices as it takes to give every multiprocessor work.

    Whether a plane is cut depends on how many programs there are without it, against multiprocessors, and not on the
    plane's length: 32 long rows starve a GPU, 256 do not (pytorch#188578). Slices are bounded by the same number, since
    somebody must merge them.
    """
    if layout == CHANNELS_LAST:
        block_c = min(power_of_two(channels), LINE)
        block_p = min(power_of_two(plane), max(1, tile // block_c))
    else:
        block_p = min(power_of_two(plane), tile)
        block_c = min(power_of_two(channels), max(1, tile // block_p))
    programs = max(1, batch * -(-channels // block_c))
    chunks = -(-plane // block_p)
    splits = min(chunks, max(1, PROGRAMS_PER_PROCESSOR * processors // programs))
    length = -(-chunks // splits) * block_p
    return Tiling(block_c, block_p, -(-plane // length), length)


@dataclass(frozen=True)
class SpanTiling:
    """The programs of a kernel of rows: how many spans of how many channels there are, and the block of a program."""

    spans: int
    span: int
    block_spans: int
    block_span: int


def tile_rows(channels: int, groups: int, ties: frozenset[str]) -> SpanTiling:
    """A program has all channels that a moment brings together: any, those of a group, or all."""
    if "whcg" in ties:
        spans, span = groups, channels // groups
    else:
        spans, span = (1, channels) if "whc" in ties else (channels, 1)
    block_span = power_of_two(span)
    fitting = power_of_two(spans) if "whc" in ties else max(1, ROW_TILE // block_span)
    return SpanTiling(spans, span, min(power_of_two(spans), fitting), block_span)


def warps_for(numbers: int) -> int:
    """For a tile of so many numbers that no loop runs over."""
    return min(16, max(1, numbers // 256))


@dataclass(frozen=True)
class Sizes:
    """What kernels must know of a call: its shape, its layout, and the device's number of multiprocessors."""

    batch: int
    channels: int
    plane: int
    layout: int
    groups: int
    processors: int
    tile: int | None = None  # instead of what registers allow

    @staticmethod
    def of(shape: Sequence[int], layout: int, groups: int, processors: int, tile: int | None = None) -> "Sizes":
        """An empty input, which only exchanges, is an empty batch."""
        batch, plane = (shape[0], prod(shape[2:])) if prod(shape) else (0, 1)
        return Sizes(batch, shape[1], plane, layout, groups, processors, tile)

    def tiling(self, kernels: Sequence[KernelText]) -> Tiling:
        """One for all passes in a row, since they leave slices to each other."""
        values = max((each.full_values for each in kernels), default=0)
        tile = self.tile or (TILE_OF_LONG_PASSES if values > MANY_VALUES else TILE)
        return tile_passes(self.batch, self.channels, self.plane, self.layout, self.processors, tile)


@dataclass(frozen=True)
class Arrangement:
    """One launch: how many programs, the sizes they are told, what is fixed when they are compiled, their warps."""

    programs: int
    numbers: tuple[int, ...]
    constants: dict[str, int]
    warps: int

    @property
    def options(self) -> dict[str, int]:
        """Without fusion a product is rounded before it is subtracted: t - mean is zero where it is."""
        return {"num_warps": self.warps, "enable_fp_fusion": False}


def arrange(kernel: KernelText, sizes: Sizes, tiling: Tiling) -> Arrangement:
    """As many programs as the kernel's shape asks for."""
    channels, own_group = sizes.channels, sizes.channels // sizes.groups
    numbers = (sizes.batch, channels, sizes.plane, tiling.splits, tiling.slice, own_group)
    if kernel.shape == PASS:
        programs = sizes.batch * tiling.splits * -(-channels // tiling.block_c)
        last = int(sizes.layout == CHANNELS_LAST)
        constants = {"CHANNELS_LAST": last, "BLOCK_C": tiling.block_c, "BLOCK_P": tiling.block_p}
        return Arrangement(programs, numbers, constants, WARPS)
    if kernel.shape == CHANNELS:
        block = min(CHANNEL_BLOCK, power_of_two(channels))
        rows = min(ROW_BLOCK, power_of_two(sizes.batch * tiling.splits))
        return Arrangement(-(-channels // block), numbers, {"BLOCK_ROWS": rows, "BLOCK_C": block}, WARPS)
    spans = tile_rows(channels, sizes.groups, kernel.ties)
    programs = sizes.batch * -(-spans.spans // spans.block_spans)
    constants = {"BLOCK_SPANS": spans.block_spans, "BLOCK_SPAN": spans.block_span}
    return Arrangement(programs, (*numbers, spans.spans, spans.span), constants, warps_for(prod(constants.values())))
