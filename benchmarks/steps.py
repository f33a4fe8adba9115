"""Whole-net training steps in the paper's three anchors: ratio to torch's BatchNorm2d + ReLU.

python -m benchmarks.steps --nets resnet50-cifar --layers evonorm-s0 evonorm-b0 --rounds 15
"""

import argparse
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.timing import CLOCKS, alternate, machine, milliseconds, ratio
from evonorm.models import create_model

NETS = ("resnet50-cifar", "mobilenetv2-cifar", "efficientnet-b0-cifar")


def training_step(net: str, layer: str, channels_last: bool, batch: int, size: int) -> Callable[[], None]:
    layout = torch.channels_last if channels_last else torch.contiguous_format
    model: nn.Module = create_model(net, layer=layer, num_classes=10).to(memory_format=layout).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    images = torch.randn(batch, 3, size, size).to(memory_format=layout)
    labels = torch.randint(10, (batch,))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nets", nargs="+", default=list(NETS))
    parser.add_argument("--layers", nargs="+", default=["evonorm-s0", "evonorm-b0"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--size", type=int, default=24)
    parser.add_argument("--channels-first", action="store_true")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="cpu: with --threads 1 on a busy machine")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    layout = "NCHW" if options.channels_first else "channels_last"
    print(
        machine(),
        f"batch {options.batch}, {options.size}x{options.size}, {layout}, n={options.rounds}, {options.clock} clock",
    )
    for net in options.nets:
        steps = {
            layer: training_step(net, layer, not options.channels_first, options.batch, options.size)
            for layer in ("bn-relu", *options.layers)
        }
        seconds = alternate(steps, options.rounds, warmup=1, clock=options.clock)
        for layer in steps:
            minima = min(seconds[layer]) / min(seconds["bn-relu"])
            print(
                f"  {net:22s} {layer:11s} {milliseconds(seconds[layer]):8.1f} ms  ratio"
                f" {ratio(seconds, layer, 'bn-relu'):.3f}  of minima {minima:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
