"""The tally must say what a reader would find by going through every row, however often it was interrupted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evonorm.journal import Journal, LedgerRow, Reader, Rejected, Scores, leaderboard
from evonorm.report.progress import search_progress
from evonorm.report.scored import Scored
from evonorm.report.tally import Tally
from tests.report.synthetic_run import add_candidates, write_run


def tally_of(path):
    tally = Tally()
    with Reader(path) as reader:
        tally.refresh(reader)
    return tally


def check_against_rows(tally, path):
    with Reader(path) as reader:
        rows = [row for row in reader.candidates("arrival") if row.outcome is not None]
        proposed = reader.proposed()
    scored = [row for row in rows if isinstance(row.outcome, Scores) and row.proposal.origin != "reference"]
    assert tally.proposed == proposed
    assert tally.scored.indices.tolist() == [row.proposal.index for row in scored]
    for line, row in zip(tally.scored.table, scored, strict=True):
        assert dict(zip(tally.scored.anchors, line.tolist(), strict=True)) == pytest.approx(row.outcome.accuracies)
    assert tally.steps == sum(row.steps for row in rows)
    assert tally.seconds == pytest.approx(sum(row.seconds for row in rows))
    for (verdict, untrained), count in tally.verdicts.items():
        assert count == sum(verdict == row.outcome.verdict and untrained == (row.steps == 0) for row in rows)
    assert tally.verdicts.total() == len(rows)
    check_ledger(tally, rows)
    spent = dict(zip(tally.scored.indices.tolist(), tally.scored.spent_steps.tolist(), strict=True))
    so_far = 0
    for row in rows:
        so_far += row.steps
        if row.proposal.index in spent:
            assert spent[row.proposal.index] == so_far


def check_ledger(tally, rows):
    expected = {}
    for row in rows:
        for number, stage in enumerate(row.outcome.stages, start=1):
            spent = expected.setdefault(stage.key, LedgerRow())
            spent.candidates += 1
            spent.steps += stage.steps
            spent.seconds += stage.seconds
            spent.rejected += isinstance(row.outcome, Rejected) and number == len(row.outcome.stages)
    assert {key: vars(spent) for key, spent in tally.ledger.items()} == {
        key: pytest.approx(vars(spent)) for key, spent in expected.items()
    }


def test_a_tally_is_what_the_rows_say(tmp_path):
    path = write_run(tmp_path, candidates=400, scored_share=0.3)
    tally = tally_of(path)
    check_against_rows(tally, path)
    assert tally.references.keys() == {"bn-relu", "evonorm-b0"}
    assert (tally.behind, tally.pending) == (0, 0)


def test_an_empty_run_is_an_empty_tally(tmp_path):
    tally = tally_of(write_run(tmp_path, candidates=0))
    assert (tally.proposed, tally.behind, tally.steps, len(tally.scored)) == (0, 0, 0, 0)


def test_reading_on_gives_what_reading_at_once_gives(tmp_path, monkeypatch):
    monkeypatch.setattr("evonorm.report.tally.SLICE", 17)
    monkeypatch.setattr("evonorm.report.tally.LEDGER_SLICE", 5)
    path = write_run(tmp_path, candidates=100, scored_share=0.3)
    tally, versions = Tally(), set()
    with Journal.open(path) as journal, Reader(path) as reader:
        tally.refresh(reader)
        versions.add(tally.version)
        add_candidates(journal, 60, seed=1, scored_share=0.3, first=102)
        tally.refresh(reader, seconds=0.0)
        assert tally.behind > 0
        while tally.behind:
            tally.refresh(reader, seconds=1e-9)
            versions.add(tally.version)
    check_against_rows(tally, path)
    once = tally_of(path)
    with Reader(path) as reader:
        assert tally.ranking.best(reader, 10) == leaderboard(reader, 10)
    assert tally.scored.frontier == pytest.approx(once.scored.frontier) or set(tally.scored.frontier) == set(
        once.scored.frontier
    )
    assert len(versions) > 1


def test_looking_does_not_keep_the_search_waiting(tmp_path):
    """A reader in the middle of its work, and still the writer commits at once, without a busy handler to wait for."""
    path = write_run(tmp_path, candidates=50)
    tally = Tally()
    with Journal.open(path) as journal, Reader(path) as reader:
        journal.connection.execute("PRAGMA busy_timeout = 0")
        for first in range(52, 82, 10):
            tally.refresh(reader)
            add_candidates(journal, 10, first=first)
            journal.connection.execute("PRAGMA wal_checkpoint(RESTART)")
        tally.refresh(reader)
    assert tally.proposed == 82


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 30), st.integers(1, 4))
def test_the_frontier_is_who_nobody_beats_however_it_came_in(seed, size, anchors):
    table = np.random.default_rng(seed).integers(0, 4, (size, anchors)) / 4
    rows = [dict(zip("abcd", row, strict=False)) for row in table.tolist()]
    scored = Scored()
    for part in (slice(0, 10), slice(10, None)):
        scored.extend(list(range(size))[part], [0] * len(rows[part]), rows[part])
    for place, row in enumerate(table):
        beaten = any((other >= row).all() and (other > row).any() for other in table)
        assert (place in scored.frontier) != beaten


def test_progress_is_the_top_ten_of_the_window():
    rng = np.random.default_rng(0)
    scored = Scored()
    for start in range(0, 90, 30):
        rows = [{"a": float(rng.random()), "b": float(rng.random())} for _ in range(30)]
        scored.extend(list(range(start, start + 30)), [10 * (start + k + 1) for k in range(30)], rows)
    found = search_progress(scored, window=40)
    assert found.candidates[0] == 1
    assert found.candidates[-1] == 90
    for place, end in enumerate(found.candidates):
        population = scored.table[max(0, end - 40) : end].astype(float)
        best = sorted(population.tolist(), key=lambda row: -sum(row))[:10]
        columns = np.array([[*row, sum(row) / 2] for row in best])
        assert found.means[place] == pytest.approx(columns.mean(axis=0), abs=1e-6)
        assert found.spreads[place] == pytest.approx(columns.std(axis=0), abs=1e-6)
        assert found.spent_steps[place] == 10 * end


def test_anchors_that_come_later_are_missing_before():
    scored = Scored()
    scored.extend([0], [1], [{"a": 0.5}])
    scored.extend([1], [2], [{"a": 0.25, "b": 0.75}])
    assert scored.anchors == ["a", "b"]
    assert np.isnan(scored.table[0, 1])
    assert scored.averages.tolist() == [0.5, 0.5]
    assert scored.frontier == [1, 0] or set(scored.frontier) == {0, 1}
