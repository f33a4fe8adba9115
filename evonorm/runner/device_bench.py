"""For the owner of a GPU: a layer and a whole training step as BN-ReLU, plain torch, Inductor's and ours.

Nobody here has one, so these figures come from users: a table to read, and a JSON file to send back.
"""

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evonorm.kernels import forcing, kernel_for
from evonorm.layers import NormAct, create_layer
from evonorm.models import create_model
from evonorm.runner.surroundings import surroundings
from evonorm.runner.timing import alternate, milliseconds, ratio

BASELINE = "bn-relu"
VARIANTS = ("eager", "inductor", "ours")  # of each layer: plain torch, what torch.compile makes of it, our kernel
TURNS = 10  # of a layer in one timing: a single one is shorter than the clock is exact
WARMUP = 3  # rounds: the first compile, and check our kernels
GPU_DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

Step = Callable[[], object]


@dataclass(frozen=True)
class DeviceBench:
    """What is asked for."""

    layers: tuple[str, ...]
    shape: tuple[int, ...] = (64, 256, 28, 28)
    channels_last: bool = True
    dtype: str = "fp16"
    model: str | None = "resnet50"
    batch: int = 64
    size: int = 224
    rounds: int = 15
    variants: tuple[str, ...] = VARIANTS


@dataclass(frozen=True)
class Measured:
    """One row: median time, median ratio to BN-ReLU inside each round, memory; or what went wrong."""

    what: str
    layer: str
    variant: str
    milliseconds: float | None = None
    ratio: float | None = None
    peak_megabytes: float | None = None  # above what was there before the step
    problem: str | None = None


def find_device(name: str) -> torch.device:
    """The device, or why it cannot be used, in one line."""
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            "torch sees no GPU here: install torch for CUDA or ROCm on a machine that has one,"
            " or leave --device out to time the CPU."
        )
    if device.type not in ("cuda", "cpu"):
        raise ValueError(f"--device is cuda, cuda:1 and so on, or cpu; got {name!r}.")
    return device


def describe_device(device: torch.device) -> dict[str, Any]:
    if device.type != "cuda":
        return {"name": platform.processor() or platform.machine()}
    found = torch.cuda.get_device_properties(device)
    return {
        "name": found.name,
        "capability": f"{found.major}.{found.minor}",
        "multiprocessors": found.multi_processor_count,
        "gigabytes": round(found.total_memory / 2**30, 1),
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
    }


def bench_device(asked: DeviceBench, device: torch.device) -> Iterator[Measured]:
    """The layer's rows, then those of the model's training step."""
    title = f"layer {' x '.join(map(str, asked.shape))}"
    yield from _measure(title, partial(layer_step, asked, device), asked, device, TURNS)
    if asked.model is not None:
        title = f"{asked.model} step, {asked.batch} images of {asked.size}"
        yield from _measure(title, partial(model_step, asked, device), asked, device, 1)


def as_report(asked: DeviceBench, device: torch.device, rows: Sequence[Measured]) -> dict[str, Any]:
    """Everything that somebody else needs to read the figures."""
    about = {**surroundings(), "device": describe_device(device), "asked": asdict(asked)}
    return {**about, "rows": [asdict(row) for row in rows]}


def _measure(
    what: str, make: Callable[[str, str], Step], asked: DeviceBench, device: torch.device, turns: int
) -> Iterator[Measured]:
    wanted = [(BASELINE, "torch"), *((layer, each) for layer in asked.layers for each in asked.variants)]
    steps: dict[str, Step] = {}
    problems: dict[str, str] = {}
    peaks: dict[str, float | None] = {}
    for layer, variant in wanted:
        name = f"{layer} {variant}"
        try:
            with variant_of(variant):
                step = make(layer, variant)
                for _ in range(WARMUP):
                    step()
                peaks[name] = peak_megabytes(step, device)
            steps[name] = repeated(step, variant, turns, device)
        except Exception as error:  # out of memory, a compiler that fails: the other rows are still worth having
            problems[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    seconds = alternate(steps, asked.rounds, warmup=1)
    baseline = f"{BASELINE} torch"
    for layer, variant in wanted:
        name = f"{layer} {variant}"
        if name in problems:
            yield Measured(what, layer, variant, problem=problems[name])
            continue
        times = ratio(seconds, name, baseline) if baseline in seconds else None
        yield Measured(what, layer, variant, milliseconds(seconds[name]) / turns, times, peaks[name])


@contextmanager
def variant_of(variant: str) -> Iterator[None]:
    """Which of our kernels run: none of them where plain torch is timed, or given to Inductor."""
    with forcing(None if variant in ("ours", "torch") else "eager"):
        yield


def repeated(step: Step, variant: str, turns: int, device: torch.device) -> Step:
    def run() -> None:
        with variant_of(variant):
            for _ in range(turns):
                step()
            synchronize(device)

    return run


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_megabytes(step: Step, device: torch.device) -> float | None:
    if device.type != "cuda":
        return None
    synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    step()
    synchronize(device)
    return (torch.cuda.max_memory_allocated(device) - before) / 2**20


def layout_of(asked: DeviceBench) -> torch.memory_format:
    return torch.channels_last if asked.channels_last else torch.contiguous_format


def layer_step(asked: DeviceBench, device: torch.device, layer: str, variant: str) -> Step:
    """Forward and backward of one layer. BN-ReLU is torch's own."""
    channels = asked.shape[1]
    module: nn.Module = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(inplace=True))
    if layer != BASELINE:
        module = create_layer(layer, channels)
    module = module.to(device)
    x, gy = (
        torch.randn(asked.shape).to(device, GPU_DTYPES[asked.dtype], memory_format=layout_of(asked)) for _ in range(2)
    )
    run = torch.compile(module) if variant == "inductor" else module

    def step() -> None:
        leaf = x.detach().requires_grad_()
        run(leaf).backward(gy)

    return step


def model_step(asked: DeviceBench, device: torch.device, layer: str, variant: str) -> Step:
    """Forward under autocast, backward and SGD with momentum, on random images."""
    assert asked.model is not None
    net: nn.Module = create_model(asked.model, layer=layer).to(device).to(memory_format=layout_of(asked)).train()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)
    images = torch.randn(asked.batch, 3, asked.size, asked.size).to(device, memory_format=layout_of(asked))
    labels = torch.randint(10, (asked.batch,)).to(device)
    run = torch.compile(net) if variant == "inductor" else net
    half = asked.dtype != "fp32"

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, GPU_DTYPES[asked.dtype] if half else torch.bfloat16, enabled=half):
            found: Tensor = run(images)
        F.cross_entropy(found.float(), labels).backward()
        optimizer.step()

    return step


def kernel_on(device: torch.device) -> str:
    """The kernel that runs our layers there."""
    module = NormAct("x / std_wh(x)", 8).to(device)
    return kernel_for(module.kernel_call(torch.ones(2, 8, 4, 4, device=device))).name
