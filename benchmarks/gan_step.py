"""CPU time of a training step of the small GAN, by part: `python -m benchmarks.gan_step --turns 1 2`."""

import argparse
import time
from collections import Counter
from pathlib import Path

import torch

from evonorm.runner import load_task_recipe
from evonorm.tasks import GanTask
from evonorm.training import TrainingRun, keep_freed_memory


class Clock:
    """CPU time of this process since the last look, added up by name."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self.last = time.process_time()

    def tick(self, name: str) -> None:
        now = time.process_time()
        self.spent[name] += now - self.last
        self.last = now


def timed_step(run: TrainingRun, precision: str, clock: Clock) -> None:
    """A step as the loop takes it, with a look at the clock in between."""
    clock.tick("")
    for number, turn in enumerate(run.task.turns):
        who = turn.name[0].upper()
        optimizer = run.optimizers[turn.name]
        optimizer.zero_grad()
        batch = run.task.batch(run.step, 0, number)
        clock.tick(f"{who} batch")
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            losses = turn.losses(batch)
        clock.tick(f"{who} forward")
        sum(losses.values()).backward()
        clock.tick(f"{who} backward")
        optimizer.step()
        clock.tick(f"{who} update")
    run.step += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", nargs="+", default=["bn-relu", "evonorm-b0", "evonorm-s0"])
    parser.add_argument("--precision", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--turns", type=int, nargs="+", default=[2], help="of the discriminator")
    parser.add_argument("--steps", type=int, default=10)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    for layer in chosen.layers:
        for precision in chosen.precision:
            for turns in chosen.turns:
                recipe = load_task_recipe(Path("gan/cifar10"), [f"settings.discriminator_turns={turns}"])
                run = TrainingRun(GanTask(layer, recipe.settings, recipe.training, 0), recipe.training, 0)
                for _ in range(5):
                    timed_step(run, precision, Clock())
                clock = Clock()
                for _ in range(chosen.steps):
                    timed_step(run, precision, clock)
                parts = {name: spent / chosen.steps * 1e3 for name, spent in clock.spent.items() if name}
                told = ", ".join(f"{name} {spent:.0f}" for name, spent in parts.items())
                print(f"{layer}, {precision}, {turns} turns: {sum(parts.values()):.0f} ms a step ({told})", flush=True)


if __name__ == "__main__":
    main()
