"""The sub-command `bench`. Wiring only."""

import json
import math
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

from evonorm.foundation import write_atomically
from evonorm.kernels import find_library, kernel_for, why_not
from evonorm.layers import NormAct
from evonorm.runner import (
    GPU_DTYPES,
    DeviceBench,
    Timed,
    as_report,
    bench_device,
    bench_layers,
    bench_model,
    check_layers,
    describe_device,
    find_device,
    kernel_on,
    processor,
)
from evonorm.training import keep_freed_memory

LARGEST_GB = 4  # of an input: with gradients and outputs several times that is in memory

console = Console()


def bench(
    layers: Annotated[list[str] | None, typer.Argument(help="names or formulas; EvoNorm-B0 and -S0 by default")] = None,
    shape: Annotated[
        str | None, typer.Option(help="batch, channels, height, width; 128,64,24,24, on a GPU 64,256,28,28")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="time training steps of this model instead; on a GPU resnet50, too")
    ] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="images in a step of the model; 128, on a GPU 64")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="their height and width; 24, on a GPU 224")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="as many as torch would take by default")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="in which everything is timed once")] = 15,
    channels_first: Annotated[bool, typer.Option("--channels-first", help="NCHW instead of channels_last")] = False,
    device: Annotated[str | None, typer.Option(help="cuda: also plain torch, Inductor and memory, and a file")] = None,
    dtype: Annotated[str, typer.Option(help="on a GPU: fp16, bf16 or fp32")] = "fp16",
    out: Annotated[Path, typer.Option(help="on a GPU: the JSON file with the same figures")] = Path("gpu_bench.json"),
) -> None:
    """Times layers on this machine, in turns with torch's BatchNorm and ReLU.

    Example: evonorm bench evonorm-b0 "x * sigmoid(x) / rms_whcg(x)"

    Example: evonorm bench evonorm-s0 --model mobilenetv2-cifar --threads 1

    Example: evonorm bench --device cuda
    """
    chosen = layers or ["evonorm-b0", "evonorm-s0"]
    check_layers(chosen)
    sizes = None if shape is None else _sizes(shape)
    if device is not None:
        asked = DeviceBench(tuple(chosen), channels_last=not channels_first, dtype=_dtype(dtype), rounds=rounds)
        asked = replace(asked, shape=sizes or asked.shape, model=model or asked.model)
        asked = replace(asked, batch=batch or asked.batch, size=size or asked.size)
        _bench_on_device(asked, find_device(device), out)
        return
    sizes, batch, size = sizes or (128, 64, 24, 24), batch or 128, size or 24
    keep_freed_memory()
    if threads is not None:
        torch.set_num_threads(threads)
    layout = "NCHW" if channels_first else "channels_last"
    console.print(
        f"{processor()}, torch {torch.__version__}, {torch.get_num_threads()} thread(s), kernel: {_kernel()}",
        highlight=False,
        soft_wrap=True,
    )
    if model is not None:
        title = f"training steps of {model}, {batch} images of {size}x{size}, {layout}, {rounds} rounds"
        _print_times(title, {"step": bench_model(chosen, model, not channels_first, batch, size, rounds)})
    else:
        title = f"{' x '.join(map(str, sizes))}, {layout}, {rounds} rounds"
        both, forward = bench_layers(chosen, sizes, not channels_first, rounds)
        _print_times(title, {"forward and backward": both, "forward alone": forward})


def _sizes(shape: str) -> tuple[int, ...]:
    words = shape.replace("x", ",").split(",")
    if len(words) != 4 or not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise ValueError(f"--shape is batch, channels, height and width, such as 128,64,24,24; got {shape!r}.")
    sizes = tuple(map(int, words))
    gigabytes = 4 * math.prod(sizes) / 2**30
    if gigabytes > LARGEST_GB:
        raise ValueError(
            f"an input of {shape} has {gigabytes:,.0f} GB; this is for up to {LARGEST_GB}. Choose smaller ones."
        )
    return sizes


def _dtype(name: str) -> str:
    if name not in GPU_DTYPES:
        raise ValueError(f"--dtype is one of {', '.join(GPU_DTYPES)}; got {name!r}.")
    return name


def _bench_on_device(asked: DeviceBench, device: torch.device, out: Path) -> None:
    about, layout = describe_device(device), "channels_last" if asked.channels_last else "NCHW"
    kernel = f"torch {torch.__version__}, our kernel: {kernel_on(device)}"
    console.print(f"{about['name']}, {asked.dtype}, {layout}, {kernel}", highlight=False, soft_wrap=True)
    rows = list(bench_device(asked, device))
    for what in dict.fromkeys(row.what for row in rows):
        table = Table("layer", "run by", "ms", "of BN-ReLU", "peak, MB", title=f"{what}, {asked.rounds} rounds")
        for row in rows:
            if row.what == what:
                numbers = (row.milliseconds, row.ratio, row.peak_megabytes)
                cells = [row.problem or "-", "", ""] if row.problem else [_number(each) for each in numbers]
                table.add_row(row.layer, row.variant, *cells)
        console.print(table, markup=False)
    write_atomically(out, json.dumps(as_report(asked, device, rows), indent=1) + "\n")
    console.print(f"the same with versions and machine is in {out}; docs/gpu.md says where to send it", soft_wrap=True)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if value < 100 else f"{value:.0f}"


def _kernel() -> str:
    """The kernel that runs a layer here, and why not the native one."""
    call = NormAct("x / std_wh(x)", 8).kernel_call(torch.ones(1, 8, 2, 2))
    chosen, library = kernel_for(call).name, find_library()[0]
    if chosen == "native" and library is not None:
        return f"native ({library.isa()})"
    return f"{chosen} ({why_not(call).get('native', 'EVONORM_KERNEL')})"


def _print_times(title: str, columns: dict[str, list[Timed]]) -> None:
    table = Table("layer", *(head for name in columns for head in (f"{name}, ms", "of BN-ReLU")), title=title)
    for row in zip(*columns.values(), strict=True):
        cells = [(f"{each.milliseconds:.3f}", f"{each.ratio:.2f}") for each in row]
        table.add_row(row[0].layer, *chain(*cells))
    console.print(table, markup=False)
