"""The sub-command `bench`. Wiring only."""

import math
from itertools import chain
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

from evonorm.kernels import find_library, kernel_for, why_not
from evonorm.layers import NormAct
from evonorm.runner import Timed, bench_layers, bench_model, check_layers, processor
from evonorm.training import keep_freed_memory

LARGEST_GB = 4  # of an input: with gradients and outputs several times that is in memory

console = Console()


def bench(
    layers: Annotated[list[str] | None, typer.Argument(help="names or formulas; EvoNorm-B0 and -S0 by default")] = None,
    shape: Annotated[str, typer.Option(help="of the input: batch, channels, height, width")] = "128,64,24,24",
    model: Annotated[str | None, typer.Option(help="time whole training steps of this model instead")] = None,
    batch: Annotated[int, typer.Option(min=1, help="images in a step of the model")] = 128,
    size: Annotated[int, typer.Option(min=1, help="their height and width")] = 24,
    threads: Annotated[int | None, typer.Option(min=1, help="as many as torch would take by default")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="in which everything is timed once")] = 15,
    channels_first: Annotated[bool, typer.Option("--channels-first", help="NCHW instead of channels_last")] = False,
) -> None:
    """Times layers on this machine, in turns with torch's BatchNorm and ReLU.

    Example: evonorm bench evonorm-b0 "x * sigmoid(x) / rms_whcg(x)"

    Example: evonorm bench evonorm-s0 --model mobilenetv2-cifar --threads 1
    """
    chosen = layers or ["evonorm-b0", "evonorm-s0"]
    check_layers(chosen)
    sizes = _sizes(shape)
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
