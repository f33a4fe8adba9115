"""timm's EvoNorm layers, eager and through torch.compile, in the same run as ours: forward + backward."""

import os
import tempfile
import time
import warnings
from collections.abc import Callable

import timm.layers
import torch

from benchmarks.layer_runs import LARGE, bn_relu
from benchmarks.rival_names import RIVALS
from evonorm.layers import create_layer
from evonorm.runner.layer_timing import step_of, tensors
from evonorm.runner.timing import alternate, milliseconds, ratio


def bench_rivals(rounds: int) -> None:
    """Compiles everything anew, in an empty cache; dynamo's own import is charged to nobody."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        warnings.simplefilter("ignore")
        torch.compile(lambda x: x + 1)(torch.ones(2))
        print(f"{LARGE} channels_last, forward + backward, n={rounds} in turns; x ours: median of paired ratios")
        print(f"  {'layer':24s} {'ms':>8s} {'x ours':>7s} {'x bn-relu':>10s}   first step")
        for name, rivals in RIVALS.items():
            bench_layer(name, rivals, rounds)


def bench_layer(name: str, rivals: tuple[str, ...], rounds: int) -> None:
    x, gy = tensors(LARGE)
    channels = LARGE[1]
    steps = {"bn-relu": step_of(bn_relu(channels), x, gy), name: step_of(create_layer(name, channels), x, gy)}
    for rival in rivals:
        module = getattr(timm.layers, rival)(channels)
        steps[f"timm {rival}"] = step_of(module, x, gy)
        steps[f"  compiled {rival}"] = step_of(torch.compile(module), x, gy)
    torch.compiler.reset()
    first = {key: seconds_of_first(step) for key, step in steps.items()}
    seconds = alternate(steps, rounds)
    for key in steps:
        print(
            f"  {key:24s} {milliseconds(seconds[key]):8.2f} {ratio(seconds, key, name):7.2f}"
            f" {ratio(seconds, key, 'bn-relu'):10.2f}   {first[key]:6.2f} s",
            flush=True,
        )


def seconds_of_first(step: Callable[[], None]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start
