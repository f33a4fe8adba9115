"""Models in ONNX and in evaluation: nodes, bytes, errors, and times beside BN-ReLU's.

python -m benchmarks.export                                   # resnet50 and mobilenetv2, ours and torchvision's
python -m benchmarks.export --models resnet50 --batch 32 --rounds 3

Weights are random and moving moments those of one noise batch. "torchvision's" are converted by `evonorm.convert`.
Contestants run in another order in every round, in one process and one thread; times are the process's own. Errors are
against torch, relative in L2, at a batch size and a picture size that the exporter has not seen.
"""

import argparse
import logging
import statistics
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import evonorm
from benchmarks.timing import machine
from evonorm.pictures import markdown_table

LAYERS = ("bn-relu", "evonorm-s0", "evonorm-b0")
MODELS = ("resnet50", "mobilenetv2", "torchvision resnet50", "torchvision mobilenet_v2")


def made(model: str, layer: str) -> nn.Module:
    torch.manual_seed(0)
    if not model.startswith("torchvision "):
        net = evonorm.create_model(model, layer=layer)
    else:
        import torchvision

        net = getattr(torchvision.models, model.removeprefix("torchvision "))()
        if layer != "bn-relu":
            evonorm.convert(net, layer, torch.randn(2, 3, 64, 64))
    return evonorm.update_moments(net, [torch.randn(8, 3, 96, 96)]).eval()


def exported(net: nn.Module, path: Path) -> None:
    shapes = ({0: "batch", 2: "height", 3: "width"},)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.randn(2, 3, 64, 64)
        torch.onnx.export(
            net, (x,), path, dynamo=True, verbose=False, dynamic_shapes=shapes, external_data=False, optimize=True
        )


def session_of(path: Path) -> Callable[[Tensor], np.ndarray]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    name = session.get_inputs()[0].name
    return lambda x: session.run(None, {name: x.numpy()})[0]


def described(net: nn.Module, path: Path) -> list[str]:
    import onnx

    graph = onnx.load(path)
    operators = Counter(node.op_type for node in graph.graph.node)
    domains = {node.domain for node in graph.graph.node}
    x = torch.randn(3, 3, 96, 160)
    with torch.no_grad():
        y, found = net(x), torch.from_numpy(session_of(path)(x))
    error = float((found - y).norm() / y.norm())
    assert domains == {""}, domains
    opset = next(each.version for each in graph.opset_import if each.domain == "")
    size = path.stat().st_size / 2**20
    return [str(opset), str(sum(operators.values())), " ".join(sorted(operators)), f"{size:.1f}", f"{error:.0e}"]


def timed(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    order, times = list(runs), {name: [] for name in runs}
    draw = np.random.default_rng(0)
    for number in range(rounds + 1):
        for name in draw.permutation(order):
            start = time.process_time()
            runs[name]()
            if number:
                times[name].append(time.process_time() - start)
    return times


def contestants(
    model: str, folder: Path, batch: int, size: int
) -> tuple[dict[str, Callable[[], Any]], list[list[str]]]:
    runs: dict[str, Callable[[], Any]] = {}
    rows = []
    x = torch.randn(batch, 3, size, size)
    for layer in LAYERS:
        net, path = made(model, layer), folder / f"{model} {layer}.onnx"
        exported(net, path)
        rows.append([model, layer, *described(net, path)])
        session = session_of(path)
        folded = evonorm.fold(made(model, layer), torch.randn(2, 3, 64, 64))
        runs[f"torch, {layer}"] = lambda net=net: net(x)
        runs[f"torch, {layer}, folded"] = lambda net=folded: net(x)
        runs[f"onnxruntime, {layer}"] = lambda run=session: run(x)
    return runs, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    print(machine("system"))
    tables, times = [], []
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            runs, rows = contestants(model, Path(folder), options.batch, options.size)
            tables += rows
            found = timed(runs, options.rounds)
        base = found["torch, bn-relu"]
        for name, each in found.items():
            ratios = [a / b for a, b in zip(each, base, strict=True)]
            spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            times.append([model, name, f"{1e3 * statistics.median(each):.0f}", spread])
    print(markdown_table(["model", "layer", "opset", "nodes", "operators", "MiB", "error"], tables))
    head = ["model", f"batch {options.batch} at {options.size}", "ms", f"of torch's bn-relu, n = {options.rounds}"]
    print(markdown_table(head, times))


if __name__ == "__main__":
    main()
