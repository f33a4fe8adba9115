"""A function is as good as its runs are on average, not as its luckiest one."""

import pytest

from evonorm.cli.leaderboard import leaderboard_text, row_json
from evonorm.graph import Graph
from evonorm.journal import Candidate, Failed, Journal, Proposal, Reader, Rejected, Scores, leaderboard

S0, X, TANH = "x * sigmoid(v1 * x) / std_whcg(x)", "x + 0", "tanh(x)"


def scores(a, b):
    return Scores({"a": a, "b": b})


@pytest.fixture
def reader(tmp_path):
    """Rows (formula, function, outcome, whether it came with the proposal) as the test gives them."""

    def write(*rows):
        path = tmp_path / "journal.sqlite"
        with Journal.create(path, {"name": "run", "identity": {}, "recipe": {}}) as journal, journal.transaction():
            reference = Proposal(0, Graph.parse(S0), "reference", 0, name="evonorm-s0")
            journal.add_proposal(reference)
            journal.add_outcome(0, scores(0.99, 0.99))
            for index, (formula, function, outcome, reused) in enumerate(rows, start=1):
                proposal = Proposal(
                    index, Graph.parse(formula), "random", index, function=function, reused=outcome if reused else None
                )
                journal.add_proposal(proposal)
                if not reused:
                    journal.add_outcome(index, outcome)
        return Reader(path)

    return write


def test_one_lucky_run_does_not_win(reader):
    lucky = [(S0, "s0", scores(0.9, 0.7), False), (S0, "s0", scores(0.2, 0.2), False)]
    steady = [(TANH, "tanh", scores(0.6, 0.5), False)]
    with reader(*lucky, *steady) as journal:
        rows = leaderboard(journal, 5)
        text = leaderboard_text(rows, journal.references()).plain
    assert [(row.candidate.proposal.index, row.runs) for row in rows] == [(3, 1), (1, 2)]
    assert rows[1].accuracies == pytest.approx({"a": 0.55, "b": 0.45})
    assert rows[1].average == pytest.approx(0.5)
    found = row_json(rows[1])
    assert (found["candidate"], found["runs"], found["average"]) == (1, 2, pytest.approx(0.5))
    lines = text.splitlines()
    assert lines[0].split()[:3] == ["candidate", "n", "mean"]
    assert lines[2].split()[:4] == ["2", "1", "2", "50.00"]
    assert lines[3].split()[:3] == ["evonorm-s0", "1", "99.00"]


def test_reused_scores_are_no_runs(reader):
    rows = [(X, "x", scores(0.4, 0.4), False)] + [(X, "x", scores(0.4, 0.4), True)] * 9
    with reader(*rows) as journal:
        (row,) = leaderboard(journal, 5)
    assert (row.runs, row.candidate.proposal.index) == (1, 1)


def test_a_rejected_run_counts_as_zero_and_is_told(reader):
    rejected, broken = Rejected("quality", "a", {}), Failed("crash", "it died")
    rows = [(X, "x", scores(0.4, 0.2), False), (X, "x", rejected, False), (X, "x", broken, False)]
    with reader(*rows, (TANH, "tanh", rejected, False)) as journal:
        (row,) = leaderboard(journal, 5)
        text = leaderboard_text([row], []).plain
    assert (row.runs, row.rejected_runs, row.accuracies) == (2, 1, {"a": 0.2, "b": 0.1})
    assert "1 of 2 runs rejected" in text


def test_without_fingerprints_the_canonical_form_tells(reader):
    rows = [("v1 + x", None, scores(0.4, 0.4), False), ("x + v1", None, scores(0.6, 0.6), False)]
    with reader(*rows, (TANH, None, scores(0.55, 0.55), False)) as journal:
        found = leaderboard(journal, 5)
    assert [(row.candidate.proposal.index, row.runs) for row in found] == [(3, 1), (2, 2)]


def test_ties_go_to_the_earlier_one_and_the_length_is_kept(reader):
    rows = [(formula, formula, scores(0.5, 0.5), False) for formula in (X, TANH, S0)]
    with reader(*rows) as journal:
        assert [row.candidate.proposal.index for row in leaderboard(journal, 2)] == [1, 2]


def test_what_came_of_a_reference_stands_apart_from_its_number_of_runs():
    proposal = Proposal(0, Graph.parse(S0), "reference", 0, name="evonorm-s0")
    waits, fell = Candidate(proposal, None), Candidate(proposal, Rejected("quality", "a"))
    lines = leaderboard_text([], [waits, fell]).plain.splitlines()
    assert lines[1].split()[:4] == ["evonorm-s0", "0", "in", "work"]
    assert lines[2].split()[:5] == ["evonorm-s0", "1", "rejected", "by", "quality"]
