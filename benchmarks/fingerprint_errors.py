"""How often the fingerprint is wrong, both ways, on candidates that pass the free checks.

    python -m benchmarks.fingerprint_errors --graphs 5000

Equal pairs are graphs and their rewriting by identities that hold for every input. Different pairs are graphs and one
mutation of them whose outputs differ by more than 1 % somewhere on batches that the fingerprint does not know.
"""

import argparse

import numpy as np

from evonorm.graph import Graph, canonical_key, mutate
from evonorm.kernels.probes.fingerprint import fingerprint
from evonorm.kernels.probes.small_arrays import Probes, run_small
from tests.kernels.test_fingerprint import candidates
from tests.kernels.true_identities import rewritten


def other_batches() -> list[Probes]:
    draw = np.random.default_rng(99)
    found = []
    for scale, offset in ((1.0, 0.5), (0.3, 2.0), (2.5, 0.0)):
        spread = scale * np.exp(0.5 * draw.standard_normal((2, 1, 3, 5, 7)))
        centre = offset * draw.standard_normal((2, 1, 3, 5, 7))
        x = draw.standard_normal((2, 16, 3, 5, 7)) * spread + centre
        v0, v1 = draw.standard_normal((2, 2, 1, 3, 1, 7))
        found.append(Probes(x, v0, v1, np.ones_like(x)))
    return found


def differ(one: Graph, other: Graph, batches: list[Probes]) -> bool:
    for probes in batches:
        a, b = (np.broadcast_to(run_small(graph, probes)[0], probes.x.shape) for graph in (one, other))
        size = np.maximum(np.abs(a), 1e-3 * np.abs(a).max())
        if not np.all((np.abs(a - b) <= 0.01 * size) | (a == b)):
            return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=5000)
    count = parser.parse_args().graphs
    rng, batches = np.random.default_rng(0), other_batches()
    graphs = candidates(rng, count)[:count]
    first: dict[str, Graph] = {}
    split = merged = wrongly_merged = different = collided = 0
    for graph in graphs:
        text = fingerprint(graph)
        split += text != fingerprint(rewritten(graph, rng))
        twin = first.setdefault(text, graph)
        if canonical_key(twin) != canonical_key(graph):
            merged += 1
            wrongly_merged += differ(twin, graph, batches)
        neighbour = mutate(graph, rng)
        if neighbour.reads("x") and differ(graph, neighbour, batches):
            different += 1
            collided += fingerprint(neighbour) == text
    print(f"equal pairs told apart: {split} of {count}")
    print(f"different neighbours taken for equal: {collided} of {different}")
    print(f"graphs of other form taken for equal: {merged}, of these wrongly: {wrongly_merged}")
    print(f"distinct functions: {len(first)} of {count}")


if __name__ == "__main__":
    main()
