"""What is here and whether it works: versions, extras, kernel, data, disk, and the kernel held against plain torch."""

import importlib.metadata
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from evonorm.data import cifar10_path
from evonorm.foundation import load_plugins
from evonorm.graph import graph_of
from evonorm.kernels import find_library, kernel_for, run_eager, why_not
from evonorm.layers import NormAct
from evonorm.runner.surroundings import commit, machine, versions
from evonorm.tasks import FID_2015, SLIM

TRIED = (
    "evonorm-s0",
    "evonorm-b0",
    "x * sigmoid(x) / rms_whcg(x)",
    "max(tanh(x), log(std_whc(x))) / sqrt(square(x) + 1)",
)
SHAPES = ((8, 32, 7, 7), (4, 24, 12, 12), (16, 64, 1, 1))
WORST = 1e-4  # of the largest value; what differs here is the order of sums in fp32
EXTRA = re.compile(r"^([\w.-]+).*extra == ['\"](\w+)['\"]")


@dataclass(frozen=True)
class SelfTest:
    """Forward and backward of some layers in training: the chosen kernel in fp32 against plain torch in fp64."""

    kernel: str
    comparisons: int
    largest_error: float  # relative to the largest value
    seconds: float

    @property
    def passed(self) -> bool:
        return self.largest_error <= WORST


def examine(runs: Path = Path("runs")) -> dict[str, Any]:
    """Everything that a bug report needs, as plain data; nothing here names the user or the machine."""
    tested = self_test()
    return {
        "versions": versions(),
        "commit": commit(),
        "machine": {key: value for key, value in machine().items() if key != "host"},
        "extras": extras(),
        "plugins": {each.package: each.problem or "works" for each in load_plugins()},
        "kernel": kernel_facts(),
        "threads": thread_facts(),
        "data": data_facts(),
        "disk": disk_facts(runs),
        "self_test": tested.__dict__ | {"passed": tested.passed},
    }


def extras() -> dict[str, dict[str, str | None]]:
    """The packages of each extra with their versions; None for what is missing."""
    found: dict[str, dict[str, str | None]] = {}
    try:
        lines = importlib.metadata.requires("evonorm") or []
    except importlib.metadata.PackageNotFoundError:  # a source tree on the path, never installed
        return {}
    for line in lines:
        if (match := EXTRA.match(line)) and match[1] != "evonorm" and match[2] not in ("all", "dev"):
            found.setdefault(match[2], {})[match[1]] = _version(match[1])
    return found


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def kernel_facts() -> dict[str, Any]:
    """Which kernel runs a layer here, and why not the ones before it."""
    call = NormAct(graph_of("evonorm-s0"), 8).kernel_call(torch.ones(2, 8, 2, 2))
    library = find_library()[0]
    return {
        "runs": kernel_for(call).name,
        "why_not": why_not(call),
        "instructions": library.isa() if library is not None else None,
        "EVONORM_KERNEL": os.environ.get("EVONORM_KERNEL"),
        "gpu": gpu_facts(),
    }


def gpu_facts() -> dict[str, Any] | None:
    """Which kernel runs a layer on the GPU, and why not the ones before it; None where there is no GPU."""
    if not torch.cuda.is_available():
        return None
    call = NormAct(graph_of("evonorm-s0"), 8).cuda().kernel_call(torch.ones(2, 8, 2, 2, device="cuda"))
    return {"name": torch.cuda.get_device_name(), "runs": kernel_for(call).name, "why_not": why_not(call)}


def thread_facts() -> dict[str, Any]:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limits = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    return {"torch": torch.get_num_threads(), "cores of this process": allowed} | limits


def data_facts() -> dict[str, bool]:
    """What `evonorm data` has got already."""
    files = {"cifar10": cifar10_path(), "inception, for FID": FID_2015.path, "inception, for IS": SLIM.path}
    return {name: path.exists() for name, path in files.items()}


def disk_facts(runs: Path) -> dict[str, float]:
    """Free GB where runs and where data are kept."""
    places = {"for runs": runs, "for data": cifar10_path().parent}
    return {what: round(shutil.disk_usage(_existing(place)).free / 1e9, 1) for what, place in places.items()}


def _existing(place: Path) -> Path:
    return next(each for each in (place.absolute(), *place.absolute().parents) if each.exists())


def self_test() -> SelfTest:
    """About a second. Raises nothing: a kernel that raises has an infinite error."""
    began, errors, kernel = time.perf_counter(), [], "none"
    for number, (layer, shape) in enumerate((layer, shape) for layer in TRIED for shape in SHAPES):
        module = NormAct(graph_of(layer), shape[1])
        x = torch.randn(shape, generator=torch.Generator().manual_seed(number))
        kernel = kernel_for(module.kernel_call(x)).name
        try:
            errors.append(_error(module, x))
        except RuntimeError:
            errors.append(float("inf"))
    return SelfTest(kernel, len(errors), max(errors), round(time.perf_counter() - began, 2))


def _error(module: NormAct, x: Tensor) -> float:
    """The largest difference of outputs and input gradients, relative to the largest value of each."""
    narrow = x.clone().requires_grad_()
    y = module(narrow)
    y.backward(torch.cos(x))
    wide = x.double().requires_grad_()
    reference, _ = run_eager(module.double().kernel_call(wide))
    reference.backward(torch.cos(x).double())
    assert narrow.grad is not None
    assert wide.grad is not None
    pairs = ((y, reference), (narrow.grad, wide.grad))
    found = [((ours - theirs).abs().max() / theirs.abs().max()).item() for ours, theirs in pairs]
    return max(error if error == error else float("inf") for error in found)  # NaN is not below any bound
