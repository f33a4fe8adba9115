"""Trains what the free checks turned down all the same: how many would have passed the quality test?

    python -m evonorm.experiments.false_alarms --graphs 200 --anchor resnet-nano

Graphs that never read x are left out: no training can help them, and they would fill two thirds of the sample.
"""

import argparse
import dataclasses
import math
from collections import Counter

import numpy as np
from rich.console import Console
from rich.progress import track

from evonorm.fitness import FitnessRecipe, QualityRecipe, screen
from evonorm.fitness.evaluate import number_of_threads
from evonorm.fitness.free_checks import READS_X
from evonorm.fitness.proxy_task import ProxyTask
from evonorm.fitness.quality import passes_quality
from evonorm.graph import Graph, sample_graph
from evonorm.training import TrainingRecipe

CONFIDENCE = 0.95


def rejected_graphs(count: int, rng: np.random.Generator) -> list[tuple[str, Graph]]:
    """Random graphs of the paper's generator that read x and fail a free check, each with the check's name."""
    found: list[tuple[str, Graph]] = []
    while len(found) < count:
        graph = sample_graph(rng)
        rejected = screen(graph).rejected
        if rejected is not None and rejected.test != READS_X:
            found.append((rejected.test, graph))
    return found


def accuracy_after(graph: Graph, recipe: FitnessRecipe, seed: int) -> float:
    """On the recipe's one anchor after the steps of the quality test; 0 for a run that blew up."""
    (anchor,) = recipe.anchors
    _, figures = passes_quality(ProxyTask(graph, anchor, recipe, seed), lambda _: None)
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
    """Prints how many of each check's rejections would have passed, with the upper bound on the whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=200)
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
    console = Console(width=140)
    trained: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    with number_of_threads(recipe.threads):
        console.print(
            f"bn-relu: {accuracy_after(Graph.parse('max((x - mean_bwh(x)) / std_bwh(x), 0)'), recipe, 0):.3f}"
        )
        for check, graph in track(rejected_graphs(chosen.graphs, np.random.default_rng(chosen.seed)), console=console):
            accuracy = accuracy_after(graph, recipe, chosen.seed)
            trained[check] += 1
            passed[check] += accuracy >= chosen.gate
            if accuracy >= chosen.gate:
                console.print(f"{check}: {accuracy:.3f} {graph}", highlight=False)
    for check, number in trained.items():
        console.print(f"{check}: {passed[check]} of {number} would have passed", highlight=False)
    hits, trials = passed.total(), trained.total()
    bound = upper_bound(hits, trials)
    console.print(f"together {hits} of {trials}; at {CONFIDENCE:.0%} confidence at most {bound:.1%}", highlight=False)


if __name__ == "__main__":
    main()
