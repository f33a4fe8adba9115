"""Small batches (paper, figure and table on batch sizes): does BatchNorm fall and EvoNorm-S0 hold?

    python reproduce/small_batches.py --out docs/results      # goes on where it was stopped

Trains each layer on a small anchor with ever smaller batches on the same number of pictures, the learning rate in
proportion to the batch, and validates with the moving moments as a user would.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from evonorm.fitness import FitnessRecipe, ProxyTask, number_of_threads
from evonorm.journal import add_record, read_records
from evonorm.layers import no_weight_decay
from evonorm.pictures import Axes, Figure, Line, line_chart, markdown_table, write_figures
from evonorm.runner import commit, mean_and_spread
from evonorm.training import TrainingRun, keep_freed_memory

LAYERS = ("bn-relu", "gn-relu", "gn-silu", "evonorm-b0", "evonorm-s0")
BATCHES = (128, 32, 8, 4)
RATE_AT_128 = 0.1  # the paper's on CIFAR-10


@dataclass(frozen=True)
class Result:
    """One training; accuracy None if its loss was not finite."""

    layer: str
    batch: int
    seed: int
    anchor: str
    pictures: int
    accuracy: float | None
    steps: int
    seconds: float
    commit: str | None


def train(layer: str, batch: int, seed: int, anchor: str, pictures: int) -> Result:
    recipe = FitnessRecipe(anchors=(anchor,), threads=1)
    task = ProxyTask(layer, anchor, recipe, seed)
    model = task.fresh_model()
    training = replace(recipe.training, steps=pictures // batch, learning_rate=RATE_AT_128 * batch / 128)
    run = TrainingRun(model, task.batches(batch), training, no_weight_decay(model), task.seed)
    start = time.perf_counter()
    with number_of_threads(recipe.threads):
        ending = run.advance(training.steps)
        accuracy = None if ending == "non_finite_loss" else task.validate(model)
    return Result(layer, batch, seed, anchor, pictures, accuracy, run.step, time.perf_counter() - start, commit())


def results(seeds: int, anchor: str, pictures: int, keep: Path) -> Iterator[Result]:
    """Every training, from the file where it is known."""
    kept = [Result(**record) for record in read_records(keep)]
    known = {(each.layer, each.batch, each.seed, each.anchor, each.pictures): each for each in kept}
    for seed in range(seeds):
        for batch in BATCHES:
            for layer in LAYERS:
                key = (layer, batch, seed, anchor, pictures)
                if key not in known:
                    known[key] = train(*key)
                    add_record(keep, asdict(known[key]))
                    print(known[key], flush=True)
                yield known[key]


def figure(found: list[Result]) -> Figure:
    """Means over seeds, with a band from the worst to the best."""
    lines = []
    for layer in LAYERS:
        of_batch = [[100 * (r.accuracy or 0.0) for r in found if (r.layer, r.batch) == (layer, b)] for b in BATCHES]
        means, low, high = (list(map(how, of_batch)) for how in (statistics.fmean, min, max))
        lines.append(Line(layer, [float(k) for k in range(len(BATCHES))], means, low, high))
    names = list(map(str, BATCHES))
    axes = Axes("batch size", "validation accuracy (%)", (-0.1, len(BATCHES) - 0.9), x_names=names)
    title = "Accuracy by batch size"
    columns = ("layer", "batch", "seed", "accuracy")
    rows = [(r.layer, r.batch, r.seed, r.accuracy) for r in found]
    return Figure("small_batches", title, line_chart(title, lines, axes), columns, rows)


def _cell(found: list[Result]) -> str:
    broken = sum(r.accuracy is None for r in found)
    return mean_and_spread([r.accuracy or 0.0 for r in found]) + (f" ({broken} not finite)" if broken else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anchor", default="resnet-nano")
    parser.add_argument("--pictures", type=int, default=25_600, help="that each training sees: 200 batches of 128")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("docs/results"), help="a folder for trainings and figure")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    keep_freed_memory()
    found = list(results(chosen.seeds, chosen.anchor, chosen.pictures, chosen.out / "small_batches.jsonl"))
    rows = [
        [layer, *(_cell([r for r in found if (r.layer, r.batch) == (layer, batch)]) for batch in BATCHES)]
        for layer in LAYERS
    ]
    print(markdown_table(["layer", *(f"batch {batch}" for batch in BATCHES)], rows))
    write_figures([figure(found)], chosen.out)


if __name__ == "__main__":
    main()
