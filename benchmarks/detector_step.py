"""One full-size training step of a detector: seconds, and memory against BN-ReLU.

python -m benchmarks.detector_step                                  # maskrcnn-r50-fpn, 1024x1024, batch 1
python -m benchmarks.detector_step --model maskrcnn-spinenet96 --layers bn-relu evonorm-b0
python -m benchmarks.detector_step --data COCO                      # the first pictures of a COCO folder

Each layer has a fresh process. A step is forward, losses, backward and SGD with momentum, after one more for warming
up. "kept" is counted and not measured: every storage that autograd keeps for the backward pass, once, without
parameters and gradients. "peak" is the high-water mark of the process's memory: beside what is kept it has weights,
gradients, momentum and what convolutions need meanwhile. Without a folder the pictures are noise with 8 boxes each.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.kept import kept_by_autograd
from benchmarks.timing import machine
from evonorm.data import CocoBatches, PicturesWithObjects, load_coco
from evonorm.models import MaskRCNN, create_detector

LAYERS = ("bn-relu", "gn-relu", "evonorm-b0", "evonorm-s0")


def noise(batch: int, size: int) -> PicturesWithObjects:
    corners = torch.rand(batch, 8, 2) * 0.6 * size
    boxes = torch.cat([corners, corners + 0.05 * size + torch.rand(batch, 8, 2) * 0.3 * size], 2)
    objects = [
        {"boxes": each, "labels": torch.randint(1, 91, (8,)), "mask_crops": (torch.rand(8, 112, 112) > 0.5).float()}
        for each in boxes
    ]
    return torch.randn(batch, 3, size, size).contiguous(memory_format=torch.channels_last), objects


def kept_bytes(model: MaskRCNN, batch: PicturesWithObjects) -> tuple[int, Tensor]:
    """What autograd keeps after the forward pass, and the loss."""
    with kept_by_autograd(model.parameters()) as kept:
        losses = model(*batch)
        assert isinstance(losses, dict)
        loss = torch.stack(list(losses.values())).sum()
    return sum(kept.values()), loss


def measure_here(layer: str, options: argparse.Namespace) -> None:
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model = create_detector(options.model, layer).train().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    batches = CocoBatches(load_coco(options.data), options.batch, options.size, seed=0) if options.data else None
    cpu = wall = 0.0
    kept, loss = 0, torch.zeros(())
    for step in range(2):
        batch = batches.batch(step) if batches else noise(options.batch, options.size)
        optimizer.zero_grad()
        begun, begun_cpu = time.perf_counter(), time.process_time()
        kept, loss = kept_bytes(model, batch)
        loss.backward()
        optimizer.step()
        wall, cpu = time.perf_counter() - begun, time.process_time() - begun_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB to GiB
    print(f"{layer:12s} {cpu:8.1f} {wall:8.1f} {kept / 2**30:9.2f} {peak:9.2f}   loss {loss.item():.3f}", flush=True)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="maskrcnn-r50-fpn")
    parser.add_argument("--layers", nargs="+", default=list(LAYERS))
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--here", help="measure this one layer in this process")
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    if options.here:
        measure_here(options.here, options)
        return
    print(machine("system"))
    print(f"{options.model}, {options.size}x{options.size}, batch {options.batch}, {options.threads} thread(s)")
    print(f"{'layer':12s} {'CPU s':>8s} {'wall s':>8s} {'kept, GiB':>9s} {'peak, GiB':>9s}", flush=True)
    for layer in options.layers:
        command = [sys.executable, "-m", "benchmarks.detector_step", *sys.argv[1:], "--here", layer]
        subprocess.run(command, check=True)  # noqa: S603 (this program itself)


if __name__ == "__main__":
    main()
