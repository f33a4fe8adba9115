import io

import numpy as np
import pytest
from rich.console import Console

from evonorm.fitness import screen
from evonorm.graph import CATALOG, Graph, with_dead_nodes
from evonorm.journal import FREE_CHECKS
from evonorm.kernels.probes.fingerprint import fingerprint
from evonorm.runner.known_layers import KNOWN_LAYERS
from studies.free_checks.false_alarms import rejected_graphs, upper_bound
from studies.free_checks.funnel import funnel_table, generators, run_funnel


def test_shares_add_up_and_mutants_waste_less():
    funnels = {name: run_funnel(propose, 300, seed=0) for name, propose in generators().items()}
    for funnel in funnels.values():
        assert set(funnel.rejected) <= set(FREE_CHECKS)
        assert len(funnel.milliseconds) == funnel.proposals
        assert 0 < funnel.worth_training < funnel.distinct <= funnel.survivors < funnel.proposals
    assert funnels["mutants until different"].distinct > 3 * funnels["paper's generator"].distinct
    shown = Console(width=200, file=io.StringIO(), record=True)
    shown.print(funnel_table(funnels))
    text = shown.export_text()
    assert all(check in text for check in FREE_CHECKS)


def test_a_seed_repeats_it():
    propose = generators()["paper's generator"]
    one, two = (run_funnel(propose, 200, seed=1) for _ in range(2))
    assert (one.rejected, one.distinct, one.shallow) == (two.rejected, two.distinct, two.shallow)


@pytest.mark.parametrize("name", KNOWN_LAYERS)
def test_a_genotype_is_the_same_function(name):
    graph = Graph.parse(CATALOG[name].formula)
    filled = with_dead_nodes(graph, np.random.default_rng(0))
    assert len(filled.nodes) == max(10, len(graph.nodes))
    assert fingerprint(filled) == fingerprint(graph)


def test_rejected_graphs_read_x():
    for check, graph in rejected_graphs(20, np.random.default_rng(0)):
        assert graph.reads("x")
        assert screen(graph).rejected.test == check


@pytest.mark.parametrize(
    ("hits", "trials", "bound"), [(0, 200, 0.0149), (1, 200, 0.0235), (5, 10, 0.7776), (3, 3, 1.0)]
)
def test_upper_bounds(hits, trials, bound):
    """Against published one-sided 95 % Clopper-Pearson values; 0 of n is 1 - 0.05 ** (1 / n)."""
    assert upper_bound(hits, trials) == pytest.approx(bound, abs=2e-4)
