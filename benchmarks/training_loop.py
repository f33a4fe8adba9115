"""What the training loop costs beside the bare step, and how long the stability test takes.

python benchmarks/training_loop.py --anchors resnet50-cifar mobilenetv2-cifar --layers bn-relu evonorm-s0 --threads 2

Every round takes a bare step and one of the loop's with each layer in turn, since machines drift: only ratios mean
something, and each is the median over rounds of a ratio within one round.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

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
    (optimizer,) = run.optimizers.values()
    optimizer.zero_grad()
    F.cross_entropy(run.task.model(pictures), labels).backward()
    optimizer.step()


def seconds_of(call: Callable[[], object], clock: Clock) -> float:
    start = clock()
    call()
    return clock() - start


@dataclass
class Timed:
    """Seconds of every round with one layer."""

    task: ProxyTask
    bare: list[float] = field(default_factory=list)
    loop: list[float] = field(default_factory=list)
    batch: list[float] = field(default_factory=list)

    def take_a_round(self, clock: Clock) -> None:
        run, seen = self.task.run, []
        pictures, labels = run.task.batch(0, 0, 0)
        self.bare.append(seconds_of(lambda: bare_step(run, pictures, labels), clock))
        self.loop.append(
            seconds_of(lambda: run.advance(run.step + 1, on_step=lambda run: seen.append(run.step)), clock)
        )
        self.batch.append(seconds_of(lambda: run.task.batch(run.step, 0, 0), clock))


def median_ratio(one: list[float], other: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(one, other, strict=True))


def compare(anchor: str, layers: list[str], recipe: FitnessRecipe, rounds: int, clock: Clock) -> dict[str, Timed]:
    timed = {layer: Timed(ProxyTask(layer, anchor, recipe, seed=0)) for layer in layers}
    for each in timed.values():
        each.task.run.advance(3)
    for _ in range(rounds):
        for each in timed.values():
            each.take_a_round(clock)
    return timed


def stability_seconds(task: ProxyTask, clock: Clock) -> str:
    start = clock()
    _, figures = passes_stability(task, lambda _: None)
    return f"{clock() - start:.1f} s, step {figures['step']}"


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
    first = arguments.layers[0]
    print(
        f"| anchor | layer | bare step, ms | loop's, ms | ratio | loop's, to {first}'s | batch, ms | stability test |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for anchor in arguments.anchors:
        stability = StabilityRecipe(steps=arguments.stability_steps or 1)
        recipe = FitnessRecipe(data=arguments.data, anchors=(anchor,), stability=stability)
        timed = compare(anchor, arguments.layers, recipe, arguments.rounds, clock)
        for layer, each in timed.items():
            bare, loop, batch = (1e3 * statistics.median(times) for times in (each.bare, each.loop, each.batch))
            ratios = f"{median_ratio(each.loop, each.bare):.3f} | {median_ratio(each.loop, timed[first].loop):.3f}"
            ascent = stability_seconds(each.task, clock) if arguments.stability_steps else ""
            cells = f"{bare:.1f} | {loop:.1f} | {ratios} | {batch:.2f} | {ascent}"
            print(f"| {anchor} | {layer} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
