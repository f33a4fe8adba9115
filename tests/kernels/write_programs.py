"""Writes the programs of the catalog and of random graphs for the sanitizer run: `make sanitize`."""

import sys
from pathlib import Path

import numpy as np

from evonorm.graph import Graph, sample_graph
from evonorm.kernels.cpu.planner import program_of
from tests.kernels.reference import NATIVE_FORMULAS


def main(path: str) -> None:
    rng = np.random.default_rng(0)
    graphs = [Graph.parse(formula) for formula in NATIVE_FORMULAS.values()]
    graphs += [sample_graph(rng, nodes=int(rng.integers(1, 25))) for _ in range(400)]
    graphs += [sample_graph(rng, nodes=int(rng.integers(25, 61))) for _ in range(60)]
    with Path(path).open("wb") as file:
        for graph in graphs:
            for training, per_sample in ((True, ()), (False, ()), (True, ("weight", "bias")), (False, ("bias",))):
                encoded = program_of(graph, 1e-5, training, frozenset(per_sample)).encode()
                file.write(np.int32(len(encoded) // 4).tobytes() + encoded)


if __name__ == "__main__":
    main(sys.argv[1])
