"""A search that begins with every small expression."""

from dataclasses import replace

import pytest

from evonorm.fitness.free_checks import screen
from evonorm.search import Search, SearchSettings
from evonorm.search.start import small_survivors
from tests.search.test_proposals import CHEAP, fingerprint, noisy
from tests.search.test_search import run

SMALL = replace(CHEAP, start="enumerated", start_size=1, generator="paper")


def make(settings=SMALL, seed=3):
    return Search(settings, seed, lambda graph: screen(graph).rejected, ("bn-relu",), fingerprint)


def enumerated(rows):
    return [row.proposal for row in rows if row.proposal.origin == "enumerated"]


def test_it_goes_through_all_of_them_once_and_then_evolves():
    rows = run(make(), 100, outcomes=noisy)
    start = enumerated(rows)
    assert [proposal.index for proposal in start] == list(range(1, len(start) + 1))  # right after the reference
    assert len(start) == len({proposal.function for proposal in start}) == 21
    assert {fingerprint(proposal.graph) for proposal in start} == {proposal.function for proposal in start}
    assert {row.proposal.origin for row in rows[len(start) + 1 :]} == {"random", "mutation"}


def test_they_have_dead_nodes_to_mutate():
    start = enumerated(run(make(), 60, outcomes=noisy))
    assert {len(proposal.graph.nodes) for proposal in start} == {SMALL.nodes}
    assert max(len(proposal.graph.live_nodes) for proposal in start) == 1


def test_without_batch_ops_even_dead_nodes_have_no_batch_moment():
    start = enumerated(run(make(replace(SMALL, batch_ops=False)), 30, outcomes=noisy))
    assert start
    assert not any(node.op.endswith("_bwh") for proposal in start for node in proposal.graph.nodes)


def test_a_size_comes_in_an_order_of_the_seed_and_small_ones_first():
    def found(seed):
        return small_survivors(2, True, lambda graph: screen(graph).rejected is None, fingerprint, seed)

    one, two = found(0), found(1)
    assert one == found(0) != two
    assert {graph.encode() for graph in one} == {graph.encode() for graph in two}
    sizes = [0 if str(graph) == "x" else len(graph.nodes) for graph in one]
    assert sizes == sorted(sizes)
    assert len(one) > 600


def test_the_same_for_any_number_of_workers_and_after_a_stop():
    alone = run(make(), 80, outcomes=noisy)
    assert run(make(), 80, workers=4, seed=1, outcomes=noisy) == alone
    for cut in (1, 10, 40):
        again = make()
        for proposal in again.restore(alone[:cut]):
            again.tell(proposal.index, noisy(proposal))
        assert run(again, 80, outcomes=noisy) == alone[cut:]


def test_a_session_after_the_start_does_not_enumerate_again():
    search = make()
    search.restore(run(make(), 60, outcomes=noisy))
    search.ready()
    search.ask()
    assert "_start" not in vars(search)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": "enumerated"}, "start need free_checks"),
        ({"start_size": 4}, "start_size must not be above 3"),
        ({"start_size": 3, "nodes": 2}, r"nor nodes \(2\), got 3"),
        ({"start_size": 0}, "start_size must be at least 1"),
    ],
)
def test_impossible_starts_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SearchSettings(**changes)
