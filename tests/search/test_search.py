"""ask / tell on synthetic outcomes: orders, replay, and whether evolution is worth anything."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from evonorm.graph import Graph
from evonorm.journal import Candidate, Failed, Rejected, Scores, Stage
from evonorm.search import Screened, Search, SearchRecipe, reject_by_form

SMALL = SearchRecipe(window=50, smallest_tournament=8, lag=4)
TARGET = {"std_bwh": 2, "max": 2, "div": 2, "mul": 1, "add": 1, "std_wh": 2}  # what B0 is made of


def by_form(graph):
    return Screened(reject_by_form(graph))


def likeness(graph):
    """Three anchors that each like B0's ingredients, with tastes of their own."""
    ops = [node.op for _, node in graph.live_nodes]
    hits = sum(min(ops.count(op), 1) * weight for op, weight in TARGET.items())
    size = len(ops)
    return {
        "resnet": min(1.0, 0.05 * hits + 0.02 * size),
        "mobilenet": min(1.0, 0.06 * hits + 0.1 * ("div" in ops)),
        "efficientnet": min(1.0, 0.06 * hits + 0.1 * ("max" in ops)),
    }


def judged(proposal):
    """A third is rejected and a few break, by a hash: the same proposal always fares the same."""
    luck = hashlib.sha256(f"{proposal.graph.encode()} {proposal.seed}".encode()).digest()[0]
    stages = (Stage("training", "resnet", 10 + luck, 1.0),)
    if luck < 80:
        return Rejected("quality", "resnet", {}, stages)
    return Failed("error", "broke") if luck < 85 else Scores(likeness(proposal.graph), stages)


def run(search, proposals, workers=1, seed=0, outcomes=judged):
    """Drives a search with workers that finish in a random order; returns the journal's rows by proposal."""
    rng = np.random.default_rng(seed)
    rows, flight = {}, {}
    while search.proposed < proposals or flight:
        while search.proposed < proposals and len(flight) < workers and search.ready():
            proposal = search.ask()
            rows[proposal.index] = Candidate(proposal, proposal.settled)
            if proposal.settled is None:
                flight[proposal.index] = proposal
        if not flight:
            continue
        index = int(rng.choice(list(flight)))
        outcome = outcomes(flight.pop(index))
        search.tell(index, outcome)
        rows[index] = Candidate(rows[index].proposal, outcome)
    return [rows[index] for index in sorted(rows)]


def state(search):
    """All that decides what comes next."""
    return search.islands.of(0).members(), search.islands.of(0).added, search.proposed, search.sent, search.known_steps


def make(settings=SMALL, seed=3, references=("bn-relu", "evonorm-b0")):
    return Search(settings, seed, by_form, references)


@pytest.mark.parametrize("method", ["evolution", "random"])
def test_strict_order_is_the_same_for_any_number_and_speed_of_workers(method):
    settings = replace(SMALL, method=method)
    alone = run(make(settings), 600)
    for workers, seed in ((2, 0), (3, 1), (4, 2), (4, 3)):
        assert run(make(settings), 600, workers, seed) == alone


def test_more_workers_than_the_lag_wait():
    search = make(replace(SMALL, lag=3), references=())
    sent = 0
    while search.ready():
        sent += search.ask().rejected is None
    assert sent == 3


def test_a_proposal_sees_nothing_younger_than_the_lag_allows():
    """Changing the outcome of the t-th candidate changes nothing before the (t + lag)-th."""
    rows = run(make(), 400)
    trained = [row.proposal.index for row in rows if row.proposal.rejected is None]
    changed = trained[40]

    def otherwise(proposal):
        return Scores(dict.fromkeys(likeness(proposal.graph), 1.0)) if proposal.index == changed else judged(proposal)

    others = run(make(), 400, outcomes=otherwise)
    same = [a.proposal == b.proposal for a, b in zip(rows, others, strict=True)]
    first_that_may_know = trained[40 + SMALL.lag]
    # the free rejections before it already see what the next trained one sees
    assert all(same[: trained[40 + SMALL.lag - 1] + 1])
    assert not all(same[first_that_may_know:])


@pytest.mark.parametrize("order", ["strict", "arrival"])
@pytest.mark.parametrize("cut", [0, 1, 2, 57, 399])
def test_replaying_the_journal_gives_the_state_back(order, cut):
    settings = replace(SMALL, order=order, window=20)
    whole = make(settings)
    rows = run(whole, 400)
    restored = make(settings)
    assert restored.restore(rows) == []
    assert restored.ready() == whole.ready()
    assert state(restored) == state(whole)

    early = make(settings)  # a journal that ends early, with the last candidate still in flight
    begun = [*rows[:cut], Candidate(rows[cut].proposal, rows[cut].proposal.rejected)]
    pending = early.restore(begun)
    assert pending == ([rows[cut].proposal] if rows[cut].proposal.rejected is None else [])
    for proposal in pending:
        early.tell(proposal.index, judged(proposal))
    assert run(early, 400) == rows[cut + 1 :]
    assert state(early) == state(whole)


def test_arrival_order_learns_at_once():
    search = make(replace(SMALL, order="arrival"), references=())
    rows = run(search, 300, workers=5)
    assert search.known == sum(row.proposal.rejected is None for row in rows)
    assert search.islands.of(0).added == sum(isinstance(row.outcome, Scores) for row in rows)


def test_only_layers_that_passed_enter_and_references_never_do():
    search = make()
    rows = run(search, 500)
    names = [row.proposal.name for row in rows[:2]]
    assert names == ["bn-relu", "evonorm-b0"]
    assert str(rows[1].proposal.graph) == "x / max(std_bwh(x), v1 * x + std_wh(x))"
    known = search.known
    passed = [
        row.proposal.index for row in rows if isinstance(row.outcome, Scores) and row.proposal.origin != "reference"
    ]
    trained = [row.proposal.index for row in rows if row.proposal.rejected is None][:known]
    expected = [index for index in passed if index in trained][-SMALL.window :]
    assert [member.index for member in search.islands.of(0).members()] == expected
    parents = {parent for row in rows for parent in row.proposal.parents}
    assert parents <= set(passed)
    assert parents


def test_half_of_the_proposals_are_fresh_and_the_rest_two_mutations_away():
    rows = run(make(references=()), 3000)
    late = [row.proposal for row in rows if row.proposal.index > 1000]
    fresh = sum(proposal.origin == "random" for proposal in late) / len(late)
    assert 0.45 < fresh < 0.55
    graphs = {row.proposal.index: row.proposal.graph for row in rows}
    changes = [
        sum(a != b for a, b in zip(graphs[p.parents[0]].nodes, p.graph.nodes, strict=True)) for p in late if p.parents
    ]
    assert max(changes) == 2
    assert changes.count(2) > len(changes) / 2


def test_an_empty_population_gives_random_graphs():
    search = Search(replace(SMALL, fresh_share=0.0), 0)
    assert search.ask().origin == "random"


def test_without_batch_ops_no_proposal_has_a_batch_moment():
    search = Search(replace(SMALL, batch_ops=False), 0)
    rows = run(search, 300)
    assert not any(node.op.endswith("_bwh") for row in rows for node in row.proposal.graph.nodes)


def test_the_screen_names_what_it_turned_down():
    assert reject_by_form(Graph.parse("v0 + 1")).test == "free:reads-x"
    assert reject_by_form(Graph.parse("x / std_bwh(x)")) is None
    assert reject_by_form(Graph.parse("x / std_bwh(x)"), batch_ops=False).test == "free:no-batch-moment"


def best_average(method, proposals, seed):
    search = Search(SearchRecipe(method=method, window=200, smallest_tournament=8, lag=1), seed, by_form)
    best = 0.0
    while search.proposed < proposals:
        proposal = search.ask()
        if proposal.rejected is None:
            scores = Scores(likeness(proposal.graph))
            best = max(best, scores.average)
            search.tell(proposal.index, scores)
    return best


def test_evolution_beats_random_search_on_a_synthetic_fitness():
    for seed in range(2):
        assert best_average("evolution", 2000, seed) > best_average("random", 2000, seed) + 0.03


@pytest.mark.slow
def test_evolution_beats_random_search_over_100_000_steps():
    assert best_average("evolution", 100_000, 0) > best_average("random", 100_000, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tournament_share": 0.0}, "tournament_share must lie above 0"),
        ({"smallest_tournament": 0}, "smallest_tournament must be at least 1"),
        ({"window": 0}, "window must be at least 1"),
        ({"lag": 0}, "lag must be at least 1"),
        ({"fresh_share": 1.5}, "fresh_share must lie in 0 to 1"),
        ({"mutations": 0}, "mutations must be at least 1"),
    ],
)
def test_impossible_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SearchRecipe(**changes)
