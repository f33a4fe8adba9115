from collections import Counter
from types import SimpleNamespace

from evonorm.cli import search_display
from evonorm.cli.search_display import count_line, time_line
from evonorm.journal import CandidateVerdict


def driver(**changes):
    rejected = {CandidateVerdict("rejected", "free:reads-x"): 1000, CandidateVerdict("rejected", "free:bends"): 234}
    verdicts = {CandidateVerdict("scores"): 12, **rejected, CandidateVerdict("rejected", "rung", 1): 5}
    values = {
        "started": 0.0,
        "seconds_left": lambda: None,
        "left_at_start": {"steps": 30_000},
        "left": lambda: {"steps": 20_000},
        "verdicts": Counter(verdicts),
        "search": SimpleNamespace(proposed=1251),
        "in_flight": {3: None, 4: None},
    }
    return SimpleNamespace(**{**values, **changes})


def test_time_left_is_told_for_every_bound(monkeypatch):
    monkeypatch.setattr(search_display.time, "monotonic", lambda: 600.0)
    assert time_line(driver()) == "10.0 min, 20,000 steps left (about 20 min)"
    assert time_line(driver(left=lambda: {"steps": 30_000})) == "10.0 min, 30,000 steps left"
    assert time_line(driver(seconds_left=lambda: 90.0)) == "10.0 min, 1.5 min left"


def test_free_checks_are_counted_together():
    expected = "1,251 proposed, 1,239 rejected (free checks 1,234, rung 1 5), 12 scored, 0 failed, 2 in work"
    assert count_line(driver()) == expected
