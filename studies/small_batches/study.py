"""Small batches (paper, figure and table on batch sizes): does BatchNorm fall and EvoNorm-S0 hold?

    python -m studies.small_batches.study              # what is kept
    FRESH=1 python -m studies.small_batches.study      # trains anew; goes on where it was stopped

Trains each layer on a small anchor with ever smaller batches on the same number of pictures, the learning rate in
proportion to the batch, and validates with the moving moments as a user would.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evonorm.fitness import FitnessRecipe, ProxyTask, number_of_threads
from evonorm.journal import Question
from evonorm.layers import no_weight_decay
from evonorm.pictures import Axes, Figure, Line, line_chart, markdown_table, write_figures
from evonorm.runner import mean_and_spread
from evonorm.training import Classification, TrainingRun, keep_freed_memory
from studies.kept_or_fresh import results, scratch

LAYERS = ("bn-relu", "gn-relu", "gn-silu", "evonorm-b0", "evonorm-s0")
BATCHES = (128, 32, 8, 4)
RATE_AT_128 = 0.1  # the paper's on CIFAR-10


@dataclass(frozen=True)
class Case:
    """One training, to be done."""

    layer: str
    batch: int
    seed: int
    anchor: str = "resnet-nano"
    pictures: int = 25_600  # that it sees: 200 batches of 128

    @property
    def question(self) -> Question:
        return {"what": "small batch", **asdict(self)}


@dataclass(frozen=True)
class Result:
    """One training; accuracy None if its loss was not finite."""

    case: Case
    accuracy: float | None
    steps: int
    seconds: float

    def __str__(self) -> str:
        accuracy = "loss not finite" if self.accuracy is None else f"{100 * self.accuracy:.1f} %"
        return f"{self.case.layer}, batch {self.case.batch}, seed {self.case.seed}: {accuracy} ({self.seconds:.0f} s)"


def train(case: Case) -> dict[str, Any]:
    recipe = FitnessRecipe(anchors=(case.anchor,), threads=1)
    task = ProxyTask(case.layer, case.anchor, recipe, case.seed)
    model = task.fresh_model()
    rate = RATE_AT_128 * case.batch / 128
    training = replace(recipe.training, steps=case.pictures // case.batch, learning_rate=rate)
    small = Classification(model, task.crops(case.batch), no_weight_decay(model), task.held_out)
    run = TrainingRun(small, training, task.seed)
    start = time.perf_counter()
    with number_of_threads(recipe.threads):
        ending = run.advance(training.steps)
        accuracy = None if ending == "non_finite_loss" else run.measure()
    return {"accuracy": accuracy, "steps": run.step, "seconds": time.perf_counter() - start}


def trained(cases: Sequence[Case]) -> Iterator[Result]:
    """Every training, from the file where it is known."""
    keep_freed_memory()
    kept = results("small_batches")
    kept.expect([case.question for case in cases], "trainings")
    for case in cases:
        answer = kept.find(case.question)
        if answer is None:
            answer = train(case)
            kept.keep(case.question, answer)
            print(Result(case, **answer), flush=True)
        yield Result(case, **answer)


def figure(found: Sequence[Result]) -> Figure:
    """Means over seeds, with a band from the worst to the best."""
    lines = []
    for layer in LAYERS:
        of_batch = [[100 * (r.accuracy or 0.0) for r in _of(found, layer, batch)] for batch in BATCHES]
        means, low, high = (list(map(how, of_batch)) for how in (statistics.fmean, min, max))
        lines.append(Line(layer, [float(k) for k in range(len(BATCHES))], means, low, high))
    names = list(map(str, BATCHES))
    axes = Axes("batch size", "validation accuracy (%)", (-0.1, len(BATCHES) - 0.9), x_names=names)
    title = "Accuracy by batch size"
    columns = ("layer", "batch", "seed", "accuracy")
    data = [(r.case.layer, r.case.batch, r.case.seed, r.accuracy) for r in found]
    return Figure("small_batches", title, line_chart(title, lines, axes), columns, data)


def rows(found: Sequence[Result]) -> list[list[str]]:
    return [[layer, *(_cell(_of(found, layer, batch)) for batch in BATCHES)] for layer in LAYERS]


def _of(found: Sequence[Result], layer: str, batch: int) -> list[Result]:
    return [each for each in found if (each.case.layer, each.case.batch) == (layer, batch)]


def _cell(found: Sequence[Result]) -> str:
    broken = sum(r.accuracy is None for r in found)
    return mean_and_spread([r.accuracy or 0.0 for r in found]) + (f" ({broken} not finite)" if broken else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    seeds = range(parser.parse_args().seeds)
    found = list(trained([Case(layer, batch, seed) for seed in seeds for batch in BATCHES for layer in LAYERS]))
    print(markdown_table(["layer", *(f"batch {batch}" for batch in BATCHES)], rows(found)))
    write_figures([figure(found)], scratch("small_batches"))


if __name__ == "__main__":
    main()
