"""Worker-hours and busy shares against a calculation by hand."""

import pytest

from evonorm.graph import Graph
from evonorm.journal import Event, Journal, Proposal, Reader, Scores, Stage, read_hosts


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Writes events at times that the test says."""
    path, clock = tmp_path / "journal.sqlite", [0.0]
    monkeypatch.setattr("evonorm.journal.journal.time.time", lambda: clock[0])
    journal = Journal.create(path, {"name": "x"})

    def note(when, kind, **body):
        clock[0] = when
        with journal.transaction():
            journal.add_event(kind, body)

    def score(when, index, seconds):
        clock[0] = when
        stage = Stage("training", "wide", 10, seconds)
        with journal.transaction():
            journal.add_proposal(Proposal(index, Graph.parse("x"), "random", 0))
            journal.add_outcome(index, Scores({"wide": 0.5}, (stage,)))

    yield note, score, lambda: read_hosts(Reader(path))
    journal.close()


def test_a_run_of_one_machine_has_no_hosts(run):
    note, _, read = run
    note(1.0, Event.SESSION_STARTED, pid=1)
    assert read() is None


def test_hosts_add_up(run):
    note, score, read = run
    note(100.0, Event.SESSION_STARTED, pid=1)
    note(110.0, Event.HOST_JOINED, host=1, node="a", workers=4, processor="P")
    note(120.0, Event.HOST_JOINED, host=2, node="b", workers=2)
    note(160.0, Event.HOST_LOST, host=1, node="a", why="gone", tasks=3)
    score(170.0, 0, 60.0)
    note(180.0, Event.HOST_JOINED, host=3, node="a", workers=4, processor="P")
    note(210.0, Event.SESSION_ENDED, why="stopped")
    note(500.0, Event.SESSION_STARTED, pid=1)
    note(510.0, Event.HOST_JOINED, host=1, node="b", workers=2)
    score(550.0, 1, 100.0)
    note(900.0, Event.SESSION_STARTED, pid=1)  # the driver of the second one was killed after 550
    found = read()
    assert {name: row.seconds for name, row in found.nodes.items()} == {
        "a": 4 * 50.0 + 4 * 30.0,
        "b": 2 * 90.0 + 2 * 40.0,
    }
    assert (found.nodes["a"].joined, found.nodes["a"].lost, found.nodes["a"].processor) == (2, 1, "P")
    assert found.wall_seconds == (210 - 110) + (550 - 510)
    assert (found.judged, found.busy_seconds) == (2, 160.0)
    busy = 100 * 160 / (320 + 260)
    assert f"{busy:.0f} % of them busy" in str(found)
    assert "0 now with 0 workers (4 joined, 1 lost)" in str(found)


def test_thousands_of_nodes_are_a_few_rows(run):
    note, _, read = run
    note(0.5, Event.SESSION_STARTED, pid=1)
    for number in range(30):
        note(1.0, Event.HOST_JOINED, host=number, node=f"n{number}", workers=64)
    note(1 + 3600.0, Event.SESSION_ENDED, why="stopped")
    rows = read().rows()
    assert len(rows) == 11
    assert rows[-1][0] == "and 20 more"
    assert rows[-1][1].seconds == pytest.approx(20 * 64 * 3600)
