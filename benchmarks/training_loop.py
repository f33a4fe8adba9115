"""What the training loop costs beside the bare step, and how long the stability test takes.

python benchmarks/training_loop.py --anchors resnet50-cifar mobilenetv2-cifar --layers bn-relu evonorm-s0 --threads 2

The bare step and the loop's are alternated in one process, since machines drift: only their ratio means something.
"""

import argparse
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from evonorm.fitness import FitnessRecipe, StabilityRecipe
from evonorm.fitness.proxy_task import ProxyTask
from evonorm.fitness.stability import passes_stability
from evonorm.training import TrainingRun, keep_freed_memory

Clock = Callable[[], float]


def bare_step(run: TrainingRun, pictures: Tensor, labels: Tensor) -> None:
    """Forward, backward and update on a batch that is there already: what any loop must do."""
    run.optimizer.zero_grad()
    F.cross_entropy(run.model(pictures), labels).backward()
    run.optimizer.step()


def seconds_of(call: Callable[[], object], clock: Clock) -> float:
    start = clock()
    call()
    return clock() - start


def compare(task: ProxyTask, rounds: int, clock: Clock) -> list[float]:
    """Least seconds of the bare step, of the loop's step, and of making its batch: what others disturb only adds."""
    run, seen = task.run, []
    batch = run.batches.batch(0)
    run.advance(3)
    bare, loop, data = [], [], []
    for _ in range(rounds):
        bare.append(seconds_of(lambda: bare_step(run, *batch), clock))
        loop.append(seconds_of(lambda: run.advance(run.step + 1, on_step=lambda run: seen.append(run.step)), clock))
        data.append(seconds_of(lambda: run.batches.batch(run.step), clock))
    return [min(each) for each in (bare, loop, data)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anchors", nargs="+", default=["resnet-nano", "mobilenet-nano", "efficientnet-nano"])
    parser.add_argument("--layers", nargs="+", default=["bn-relu", "evonorm-b0", "evonorm-s0"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--stability-steps", type=int, default=0)
    parser.add_argument("--cpu-time", action="store_true", help="not wall time: for a machine that others use too")
    parser.add_argument("--data", default="cifar10")
    arguments = parser.parse_args()
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    keep_freed_memory()
    torch.set_num_threads(arguments.threads)
    print("| anchor | layer | bare step, ms | loop's, ms | ratio | batch, ms | stability test |")
    print("|---|---|---|---|---|---|---|")
    for anchor in arguments.anchors:
        for layer in arguments.layers:
            recipe = FitnessRecipe(
                data=arguments.data, anchors=(anchor,), stability=StabilityRecipe(steps=arguments.stability_steps)
            )
            task = ProxyTask(layer, anchor, recipe, seed=0)
            bare, loop, data = compare(task, arguments.rounds, clock)
            stability = ""
            if arguments.stability_steps:
                start = clock()
                _, figures = passes_stability(task, lambda _: None)
                stability = f"{clock() - start:.1f} s, step {figures['step']}"
            cells = f"{1e3 * bare:.1f} | {1e3 * loop:.1f} | {loop / bare:.3f} | {1e3 * data:.2f} | {stability}"
            print(f"| {anchor} | {layer} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
