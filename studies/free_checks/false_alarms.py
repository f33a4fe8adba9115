"""Trains what the free checks turned down all the same: how many would have passed the quality test?

    python -m studies.free_checks.false_alarms --graphs 200 --anchor resnet-nano
    python -m studies.free_checks.false_alarms --known --steps 20 --gate 0.115

Graphs that never read x are left out: no training can help them, and they would fill two thirds of the sample. With
`--known` it trains layers that are known to be good instead: whoever falls below the gate there is a false alarm of it.
"""

import argparse
import dataclasses
import math
from collections import Counter

import numpy as np
from rich.console import Console

from evonorm.fitness import FitnessRecipe, ProxyTask, QualityRecipe, number_of_threads, passes_quality, screen
from evonorm.graph import Graph, sample_graph
from evonorm.journal import Test
from evonorm.runner import KNOWN_LAYERS
from evonorm.training import TrainingRecipe

CONFIDENCE = 0.95
console = Console(width=140)


def rejected_graphs(count: int, rng: np.random.Generator) -> list[tuple[str, Graph]]:
    """Random graphs of the paper's generator that read x and fail a free check, each with the check's name."""
    found: list[tuple[str, Graph]] = []
    while len(found) < count:
        graph = sample_graph(rng)
        rejected = screen(graph).rejected
        if rejected is not None and rejected.test != Test.READS_X:
            found.append((rejected.test, graph))
    return found


def accuracy_after(layer: Graph | str, recipe: FitnessRecipe, seed: int) -> float:
    """On the recipe's one anchor after the steps of the quality test; 0 for a run that blew up."""
    (anchor,) = recipe.anchors
    _, figures = passes_quality(ProxyTask(layer, anchor, recipe, seed), lambda _: None)
    return float(figures.get("accuracy", 0.0))


def upper_bound(hits: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """The largest true rate under which this few hits have a chance of at least 1 - confidence (Clopper-Pearson)."""
    if hits == trials:
        return 1.0
    low, high = hits / trials, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        chance = math.fsum(math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(hits + 1))
        low, high = (rate, high) if chance > 1 - confidence else (low, rate)
    return high


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--known", action="store_true", help="train the known good layers instead")
    parser.add_argument("--anchor", default="resnet-nano")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--gate", type=float, default=0.2)
    parser.add_argument("--data", default="cifar10")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    recipe = FitnessRecipe(
        data=chosen.data,
        anchors=(chosen.anchor,),
        threads=1,
        validation_images=1000,
        validation_batch_size=128,
        moments="reestimated",
        moment_batches=4,
        quality=QualityRecipe(chosen.steps, chosen.gate),
        training=dataclasses.replace(TrainingRecipe(), steps=chosen.steps),
    )
    with number_of_threads(recipe.threads):
        if chosen.known:
            judge_known_layers(recipe, chosen.seed)
        else:
            judge_rejected_graphs(recipe, chosen.graphs, chosen.seed)


def judge_known_layers(recipe: FitnessRecipe, seed: int) -> None:
    """Prints each layer's accuracy; those below the gate are false alarms of the gate."""
    for name in KNOWN_LAYERS:
        accuracy = accuracy_after(name, recipe, seed)
        console.print(f"{name}: {accuracy:.3f}{'' if accuracy >= recipe.quality.accuracy else ' REJECTED'}")


def judge_rejected_graphs(recipe: FitnessRecipe, count: int, seed: int) -> None:
    """Prints how many of each check's rejections would have passed, with the upper bound on the whole."""
    trained: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for check, graph in rejected_graphs(count, np.random.default_rng(seed)):
        accuracy = accuracy_after(graph, recipe, seed)
        trained[check] += 1
        if accuracy >= recipe.quality.accuracy:
            passed[check] += 1
            console.print(f"{check}: {accuracy:.3f} {graph}", highlight=False)
        if trained.total() % 20 == 0:
            console.print(f"{passed.total()} of {trained.total()} so far", highlight=False)
    for check, number in trained.items():
        console.print(f"{check}: {passed[check]} of {number} would have passed", highlight=False)
    hits, trials = passed.total(), trained.total()
    bound = upper_bound(hits, trials)
    console.print(f"together {hits} of {trials}; at {CONFIDENCE:.0%} confidence at most {bound:.1%}", highlight=False)


if __name__ == "__main__":
    main()
