"""Runs a program's kernels on tensors, one after the other."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from evonorm.kernels.call import SyncedMoments
from evonorm.kernels.gpu.program import Program
from evonorm.kernels.gpu.text import KernelText
from evonorm.kernels.gpu.tiles import Sizes, Tiling, arrange
from evonorm.kernels.plan.values import PARAMETERS
from evonorm.kernels.synced import merge_over_ranks, sum_over_ranks

INTERPRETED_PROCESSORS, INTERPRETED_TILE = 2, 32  # so that tiny tensors have slices of several chunks
Kept = tuple[Tensor, Tensor, Tensor]
"""Raw moments of samples and of channels, and the number of elements behind the latter."""


class Loaded(Protocol):
    """A program, and its kernels as functions that Triton launches."""

    program: Program
    kernels: dict[str, Any]


def sizes_of(x: Tensor, layout: int, groups: int, device: torch.device | None = None) -> Sizes:
    """The sizes of a call on x's device, or on another one."""
    device = device or x.device
    if device.type != "cuda":
        return Sizes.of(x.shape, layout, groups, INTERPRETED_PROCESSORS, INTERPRETED_TILE)
    return Sizes.of(x.shape, layout, groups, processors(device))


@lru_cache
def processors(device: torch.device) -> int:
    """How many programs run at a time."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def launch_forward(
    loaded: Loaded,
    x: Tensor,
    vectors: Mapping[str, Tensor],
    layout: int,
    groups: int,
    synced: SyncedMoments | None = None,
) -> tuple[Tensor, Kept]:
    """y, and what backward or a report of moments needs."""
    program, sizes = loaded.program, sizes_of(x, layout, groups)
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
    loaded: Loaded,
    x: Tensor,
    gy: Tensor,
    kept: Kept,
    vectors: Mapping[str, Tensor],
    layout: int,
    groups: int,
    synced: SyncedMoments | None = None,
) -> tuple[Tensor, list[Tensor | None]]:
    """The gradients of x and of (weight, bias, v0, v1); None where the layer does not read one."""
    program, sizes = loaded.program, sizes_of(x, layout, groups)
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
    run = arrange(kernel, sizes, tiling)
    if run.programs:
        pointers = [tensors[each] for each in kernel.pointers]
        function[(run.programs,)](*pointers, *run.numbers, **run.constants, **run.options)


def _row_maker(x: Tensor) -> Callable[..., Tensor]:
    return lambda *shape: torch.empty(shape, dtype=torch.float32, device=x.device)


def on_device(x: Tensor) -> AbstractContextManager[Any]:
    """Triton launches on the current device, which x need not be on. Its interpreter is numpy, which would warn."""
    return torch.cuda.device(x.device) if x.is_cuda else np.errstate(all="ignore")


def exchange_moments(kept: Tensor, count: Tensor, exchange: tuple[tuple[int, ...], ...], synced: SyncedMoments) -> None:
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
