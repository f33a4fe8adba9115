"""How signal and gradient fare through depth with each layer, and whether that tells what cannot be trained.

    python -m studies.free_checks.depth_signal --random 20
    python -m studies.free_checks.depth_signal --trained studies/calibration
    python -m studies.free_checks.depth_signal --trained runs/calibrate --mutants 100

The first prints the figures of the catalog and of random survivors of the free checks. The second takes the layers
that `evonorm calibrate` has trained on an anchor, and mutants of known layers, which it trains itself, and counts, for
several limits, how many of those that stayed below the gate a limit would have turned down, and how many of the others.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from evonorm.fitness import LARGEST_GROWTH, LARGEST_LIKENESS, DepthSignal, depth_signal
from evonorm.graph import CATALOG, graph_of
from evonorm.runner import (
    kept_curves,
    kept_results,
    mutant_of_known,
    passes_first_gate,
    random_survivors,
    read_fitness_recipe,
)
from studies.free_checks.false_alarms import upper_bound

GROWTHS, LIKENESSES = (0.05, 0.1, 0.2, LARGEST_GROWTH, 0.5, 1.0), (0.9, LARGEST_LIKENESS, 0.99, 1.0)
console = Console(width=140)


@dataclass(frozen=True)
class Trained:
    """A layer with its signal and the accuracy that its training ended with, averaged over seeds."""

    layer: str
    signal: DepthSignal
    accuracy: float


def trained_layers(folder: Path, anchor: str) -> list[Trained]:
    """What a calibration has kept about this anchor: the last look of every layer, 0 for a run that blew up."""
    accuracies: dict[str, list[float]] = {}
    for curve in kept_curves(kept_results(folder)):
        if curve.trial.anchor == anchor and curve.error is None:
            accuracies.setdefault(curve.trial.layer, []).append(curve.looks[-1].accuracy or 0.0)
    if not accuracies:
        raise ValueError(f"{folder} has no training on {anchor}. Make some with: evonorm calibrate --keep {folder}")
    return [
        Trained(layer, depth_signal(graph_of(layer)), sum(found) / len(found))
        for layer, found in accuracies.items()
        if has_graph(layer)
    ]


def has_graph(layer: str) -> bool:
    """False for a layer with a name that the formula language cannot say."""
    return layer not in CATALOG or CATALOG[layer].formula is not None


def train_mutants(number: int, seed: int, folder: Path) -> None:
    """Random layers that learn are rare. Two mutations of a known one often leave a layer that does."""
    recipe = read_fitness_recipe(Path("studies/first_laptop.toml"))
    layers = random_survivors(number, seed, propose=mutant_of_known)
    for layer in track(layers, "training mutants", console=console):
        passes_first_gate(layer, recipe, kept_results(folder))


def limit_rows(trained: Sequence[Trained], gate: float) -> list[list[str]]:
    """For each pair of limits: of those below the gate how many it turns down, of the others how many, with a bound."""
    bad = [each for each in trained if each.accuracy < gate]
    good = [each for each in trained if each.accuracy >= gate]
    rows = []
    for growth, likeness in product(GROWTHS, LIKENESSES):
        caught, lost = (sum(not each.signal.within(growth, likeness) for each in group) for group in (bad, good))
        bound = f"{upper_bound(lost, len(good)):.1%}" if good else "-"
        rows.append([f"{growth:g}", f"{likeness:g}", f"{caught} of {len(bad)}", f"{lost} of {len(good)}", bound])
    return rows


def print_signals(rows: Sequence[tuple[str, DepthSignal, str]]) -> None:
    """Growths are powers of ten per layer."""
    table = Table("layer", "forward", "backward", "likeness of samples", "accuracy")
    for layer, signal, accuracy in rows:
        figures = (signal.forward, signal.backward, signal.likeness)
        table.add_row(layer, *(f"{figure:.3f}" for figure in figures), accuracy)
    console.print(table, markup=False)


def print_catalog(number: int, seed: int) -> None:
    layers = [each for each in [*CATALOG, *random_survivors(number, seed)] if has_graph(each) and "-top" not in each]
    print_signals([(layer, depth_signal(graph_of(layer)), "") for layer in layers])


def print_trained(folder: Path, anchor: str, gate: float) -> None:
    trained = sorted(trained_layers(folder, anchor), key=lambda each: each.signal.largest_growth)
    print_signals([(each.layer, each.signal, f"{100 * each.accuracy:.1f} %") for each in trained])
    table = Table(
        "growth", "likeness", f"turned down, of those below {gate:.0%}", "of the others", "at 95 % confidence at most"
    )
    for row in limit_rows(trained, gate):
        table.add_row(*row)
    console.print(table)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=20, help="survivors of the free checks beside the catalog")
    parser.add_argument("--seed", type=int, default=0, help="of the survivors")
    parser.add_argument("--trained", type=Path, help="the file or folder of a calibration")
    parser.add_argument("--mutants", type=int, default=0, help="to train first, with the others of --trained")
    parser.add_argument("--anchor", default="mobilenet-nano")
    parser.add_argument("--gate", type=float, default=0.13)
    chosen = parser.parse_args()
    if chosen.trained is None:
        print_catalog(chosen.random, chosen.seed)
    else:
        train_mutants(chosen.mutants, chosen.seed, chosen.trained)
        print_trained(chosen.trained, chosen.anchor, chosen.gate)


if __name__ == "__main__":
    main()
