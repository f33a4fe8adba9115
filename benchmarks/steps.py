"""Whole-net training steps in the paper's three anchors: ratio to torch's BatchNorm2d + ReLU in the same layout.

python -m benchmarks.steps                          # channels_last, two threads, all six EvoNorms
python -m benchmarks.steps --channels-first         # NCHW against NCHW
python -m benchmarks.steps --threads 1
python -m benchmarks.steps --malloc system          # without the setting that evonorm's training loop makes
python -m benchmarks.steps --nets resnet50-cifar --layers evonorm-s0 --rounds 15

A step is forward, backward and SGD with momentum on random images. Linear layers (after a bottleneck) are an affine map
in EvoNorm nets and a BatchNorm in BN-ReLU nets, as in the paper.
"""

import argparse

import torch

from benchmarks.timing import MALLOCS, aim, choose_malloc, machine
from evonorm.runner.layer_timing import training_step
from evonorm.runner.timing import CLOCKS, alternate, milliseconds, ratio, ratio_of_minima

NETS = ("resnet50-cifar", "mobilenetv2-cifar", "efficientnet-b0-cifar")
LAYERS = ("evonorm-s0", "evonorm-b0", "evonorm-b1", "evonorm-b2", "evonorm-s1", "evonorm-s2")
AIMS = {"evonorm-s0": 0.95, "evonorm-b0": 1.03}
AIM_OF_OTHERS, AIM_CHANNELS_FIRST = 1.05, 1.10


def aim_of(layer: str, channels_last: bool) -> float | None:
    if layer not in LAYERS:
        return None
    return AIMS.get(layer, AIM_OF_OTHERS) if channels_last else AIM_CHANNELS_FIRST


def bench_net(net: str, options: argparse.Namespace) -> None:
    channels_last = not options.channels_first
    steps = {
        layer: training_step(net, layer, channels_last, options.batch, options.size)
        for layer in ("bn-relu", *options.layers)
    }
    seconds = alternate(steps, options.rounds, warmup=2, clock=options.clock)
    for layer in steps:
        value = ratio(seconds, layer, "bn-relu")
        print(
            f"{net:22s} {layer:12s} {milliseconds(seconds[layer]):9.1f} {value:7.3f}"
            f" {ratio_of_minima(seconds, layer, 'bn-relu'):10.3f}   {aim(value, aim_of(layer, channels_last))}",
            flush=True,
        )


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", nargs="+", default=list(NETS))
    parser.add_argument("--layers", nargs="+", default=list(LAYERS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--size", type=int, default=24)
    parser.add_argument("--channels-first", action="store_true")
    parser.add_argument("--malloc", choices=MALLOCS, default="kept")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="cpu: with --threads 1 on a busy machine")
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    choose_malloc(options.malloc)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    layout = "NCHW" if options.channels_first else "channels_last"
    print(machine(options.malloc))
    print(
        f"training steps, batch {options.batch}, {options.size}x{options.size}, {layout}, n={options.rounds} in turns"
    )
    print("ratio: median of the ratios to bn-relu inside each round")
    print(f"{'net':22s} {'layer':12s} {options.clock + ', ms':>9s} {'ratio':>7s} {'of minima':>10s}   aim")
    for net in options.nets:
        bench_net(net, options)


if __name__ == "__main__":
    main()
