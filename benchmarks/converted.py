"""A converted ResNet-50 beside the one that it was: time and memory of a training step.

python -m benchmarks.converted                                # torchvision's ResNet-50, 8 pictures of 64x64
python -m benchmarks.converted --model mobilenet_v2 --batch 32 --rounds 9

Contestants step in another order in every round, in one process and one thread; times are the process's own, ratios are
of one round. "Kept" is what autograd keeps for the backward pass, beside parameters.
"""

import argparse
import random
import statistics
import time

import torch
import torchvision
from torch import Tensor, nn

import evonorm
from benchmarks.kept import kept_by_autograd
from benchmarks.timing import machine
from evonorm.pictures import markdown_table

ORIGINAL = "BatchNorm, ReLU"
LAYERS = (ORIGINAL, "bn-relu", "evonorm-s0", "evonorm-b0")


def made(name: str, layer: str) -> nn.Module:
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None)
    return model if layer == ORIGINAL else evonorm.convert(model, layer, torch.randn(2, 3, 64, 64))


def kept_bytes(model: nn.Module, x: Tensor) -> int:
    with kept_by_autograd((*model.parameters(), *model.buffers(), x)) as kept:
        model(x).sum().backward()
    return sum(kept.values())


def seconds(model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, labels: Tensor) -> float:
    begin = time.process_time()
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), labels).backward()
    optimizer.step()
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    x, labels = torch.randn(options.batch, 3, options.size, options.size), torch.arange(options.batch)
    models = {layer: made(options.model, layer) for layer in LAYERS}
    optimizers = {layer: torch.optim.SGD(model.parameters(), 1e-3) for layer, model in models.items()}
    kept = {layer: kept_bytes(model, x) for layer, model in models.items()}
    order, times = random.Random(0), {layer: [] for layer in LAYERS}  # noqa: S311
    for _ in range(options.rounds):
        for layer in order.sample(LAYERS, len(LAYERS)):
            times[layer].append(seconds(models[layer], optimizers[layer], x, labels))
    rows = []
    for layer in LAYERS:
        ratios = sorted(a / b for a, b in zip(times[layer], times[ORIGINAL], strict=True))
        spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        rows.append([layer, f"{min(times[layer]):.3f}", spread, f"{kept[layer] / 2**20:.0f}"])
    print(machine("system"))
    print(f"{options.model}, {options.batch} pictures of {options.size}x{options.size}, n = {options.rounds}")
    print(markdown_table(["layer", "fastest step, CPU s", "ratio of a round, median (range)", "kept, MiB"], rows))


if __name__ == "__main__":
    main()
