"""Runs a program's kernels on tensors, one after the other."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from evonorm.kernels.call import SyncedMoments
from evonorm.kernels.gpu.modules import LoadedProgram
from evonorm.kernels.gpu.text import CHANNELS, PASS, KernelText
from evonorm.kernels.gpu.tiles import (
    CHANNEL_BLOCK,
    CHANNELS_LAST,
    MANY_VALUES,
    ROW_BLOCK,
    TILE,
    TILE_OF_LONG_PASSES,
    WARPS,
    Tiling,
    power_of_two,
    tile_passes,
    tile_rows,
    warps_for,
)
from evonorm.kernels.plan.values import PARAMETERS
from evonorm.kernels.synced import merge_over_ranks, sum_over_ranks

INTERPRETED_PROCESSORS, INTERPRETED_TILE = 2, 32  # so that tiny tensors have slices of several chunks
Kept = tuple[Tensor, Tensor, Tensor]
"""Raw moments of samples and of channels, and the number of elements behind the latter."""


@lru_cache
def processors(device: torch.device) -> int:
    """How many programs run at a time."""
    if device.type == "cpu":
        return INTERPRETED_PROCESSORS
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


class Sizes:
    """What kernels must know of one call's shape."""

    def __init__(self, x: Tensor, layout: int, groups: int) -> None:
        elements, self.channels = x.numel(), x.shape[1]
        # an empty input, which only exchanges, is an empty batch
        self.batch = x.shape[0] if elements else 0
        self.plane = elements // (self.batch * self.channels) if elements else 1
        self.layout, self.groups, self.device = layout, groups, x.device

    def tiling(self, kernels: Sequence[KernelText]) -> Tiling:
        """One for all passes in a row, since they leave slices to each other."""
        values = max((each.full_values for each in kernels), default=0)
        tile = TILE_OF_LONG_PASSES if values > MANY_VALUES else TILE
        tile = INTERPRETED_TILE if self.device.type == "cpu" else tile
        return tile_passes(self.batch, self.channels, self.plane, self.layout, processors(self.device), tile)


def launch_forward(
    loaded: LoadedProgram,
    x: Tensor,
    vectors: Mapping[str, Tensor],
    layout: int,
    groups: int,
    synced: SyncedMoments | None = None,
) -> tuple[Tensor, Kept]:
    """y, and what backward or a report of moments needs."""
    program, sizes = loaded.program, Sizes(x, layout, groups)
    tiling = sizes.tiling(program.forward)
    rows = _row_maker(x)
    y = torch.empty_like(x)
    kept_samples = rows(program.kept_samples, sizes.batch, sizes.channels)
    kept_channels, count = rows(program.kept_channels, sizes.channels), rows(1)
    tensors = {
        **vectors,
        "x": x,
        "y": y,
        "kept_samples": kept_samples,
        "kept_channels": kept_channels,
        "count": count,
        "partials": rows(program.forward_partials, sizes.batch, tiling.splits, sizes.channels),
    }
    with on_device(x):
        for kernel in program.forward:
            launch(loaded.kernels[kernel.name], kernel, tensors, sizes, tiling)
            if synced is not None and kernel.exchange:
                exchange_moments(kept_channels, count, kernel.exchange, synced)
    return y, (kept_samples, kept_channels, count)


def launch_backward(
    loaded: LoadedProgram,
    x: Tensor,
    gy: Tensor,
    kept: Kept,
    vectors: Mapping[str, Tensor],
    layout: int,
    groups: int,
    synced: SyncedMoments | None = None,
) -> tuple[Tensor, list[Tensor | None]]:
    """The gradients of x and of (weight, bias, v0, v1); None where the layer does not read one."""
    program, sizes = loaded.program, Sizes(x, layout, groups)
    tiling = sizes.tiling(program.backward)
    rows = _row_maker(x)
    gx = torch.empty_like(x) if program.writes_grad_x else torch.zeros_like(x)
    gradients = {name: torch.empty_like(vectors[name]) for name in program.gradients}
    adjoint_channels = rows(program.adjoint_channels, sizes.channels)
    tensors = {
        **vectors,
        **{f"grad_{name}": each for name, each in gradients.items()},
        "x": x,
        "gy": gy,
        "gx": gx,
        **dict(zip(("kept_samples", "kept_channels", "count"), kept, strict=True)),
        "adjoint_samples": rows(program.adjoint_samples, sizes.batch, sizes.channels),
        "adjoint_channels": adjoint_channels,
        "partials": rows(program.backward_partials, sizes.batch, tiling.splits, sizes.channels),
    }
    with on_device(x):
        for kernel in program.backward:
            launch(loaded.kernels[kernel.name], kernel, tensors, sizes, tiling)
            if synced is not None and kernel.exchange:
                exchange_adjoints(adjoint_channels, kernel.exchange, synced)
    return gx, [gradients.get(name) for name in PARAMETERS]


def launch(function: Any, kernel: KernelText, tensors: Mapping[str, Tensor], sizes: Sizes, tiling: Tiling) -> None:
    """One kernel: as many programs as its shape asks for."""
    numbers = [sizes.batch, sizes.channels, sizes.plane, tiling.splits, tiling.slice, sizes.channels // sizes.groups]
    if kernel.shape == PASS:
        programs = sizes.batch * tiling.splits * -(-sizes.channels // tiling.block_c)
        constants = {
            "CHANNELS_LAST": sizes.layout == CHANNELS_LAST,
            "BLOCK_C": tiling.block_c,
            "BLOCK_P": tiling.block_p,
        }
        warps = WARPS
    elif kernel.shape == CHANNELS:
        block = min(CHANNEL_BLOCK, power_of_two(sizes.channels))
        programs, warps = -(-sizes.channels // block), WARPS
        rows = min(ROW_BLOCK, power_of_two(sizes.batch * tiling.splits))
        constants = {"BLOCK_ROWS": rows, "BLOCK_C": block}
    else:
        spans = tile_rows(sizes.channels, sizes.groups, kernel.ties)
        programs = sizes.batch * -(-spans.spans // spans.block_spans)
        numbers += [spans.spans, spans.span]
        constants = {"BLOCK_SPANS": spans.block_spans, "BLOCK_SPAN": spans.block_span}
        warps = warps_for(spans.block_spans * spans.block_span)
    if programs:
        # without fusion a product is rounded before it is subtracted: t - mean is zero where it is
        options = {"num_warps": warps, "enable_fp_fusion": False}
        function[(programs,)](*[tensors[each] for each in kernel.pointers], *numbers, **constants, **options)


def _row_maker(x: Tensor) -> Callable[..., Tensor]:
    return lambda *shape: torch.empty(shape, dtype=torch.float32, device=x.device)


def on_device(x: Tensor) -> AbstractContextManager[Any]:
    """Triton launches on the current device, which x need not be on."""
    return torch.cuda.device(x.device) if x.is_cuda else nullcontext()


def exchange_moments(
    kept: Tensor, count: Tensor, exchange: tuple[tuple[int, ...], ...], synced: SyncedMoments
) -> None:
    """This rank's raw moments become those of all ranks, in place. A mean of squares merges as a mean does."""
    nothing = torch.zeros_like(kept[0])
    pairs = [(kept[each[0]], kept[each[1]] if len(each) == 2 else nothing) for each in exchange]
    row = torch.cat([count, *[part for pair in pairs for part in pair]]).double()
    merged = merge_over_ranks(row, kept.shape[1], synced.group)
    count.copy_(merged[:1])
    synced.note_count(merged[:1].clone())
    found = merged[1:].view(len(pairs), 2, -1).unbind()
    for rows, pair in zip(exchange, found, strict=True):
        for row_number, numbers in zip(rows, pair, strict=False):
            kept[row_number].copy_(numbers)


def exchange_adjoints(adjoints: Tensor, exchange: tuple[tuple[int, ...], ...], synced: SyncedMoments) -> None:
    """This rank's adjoints of moments over the batch become the sums of all ranks', in place."""
    rows = [each[0] for each in exchange]
    adjoints[rows] = sum_over_ranks(adjoints[rows].double(), synced.group).to(adjoints.dtype)
