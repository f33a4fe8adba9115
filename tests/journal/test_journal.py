import hashlib
import json
import lzma
import os
import platform
import re
import sqlite3
import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from evonorm.graph import Graph, sample_graph
from evonorm.journal import (
    Candidate,
    CandidateVerdict,
    Event,
    Failed,
    Journal,
    JournalError,
    JournalFullError,
    Proposal,
    Reader,
    Rejected,
    RunFolder,
    RunLock,
    Scores,
    Stage,
    export_journal,
    import_journal,
    journal_digest,
    outcome_from_json,
    run_state,
)
from evonorm.journal.schema import refuse_network_disk
from evonorm.journal.transfer import exported_name
from evonorm.workers import process_start_time

HEADER = {"name": "first", "identity": {"seed": 0}, "recipe": {"search": {"window": 3}}}
S0 = Graph.parse("x * sigmoid(v1 * x) / std_whcg(x)")
SCORES = Scores({"resnet": 0.5, "mobilenet": 0.25}, (Stage("training", "resnet", 20, 1.5, {"curve": [0.1, 0.5]}),))


def write(path, number=30, seed=0, seconds=1.0):
    """A journal with every kind of outcome, the last two proposals in flight."""
    rng = np.random.default_rng(seed)
    with Journal.create(path, HEADER) as journal, journal.transaction():
        for index in range(number):
            rejected = Rejected("free:reads-x", None) if index % 5 == 4 else None
            journal.add_proposal(Proposal(index, sample_graph(rng), "random", index, (), index, None, rejected))
            if rejected is None and index < number - 2:
                journal.add_outcome(index, outcome(index, rng, seconds))
        journal.add_event("worker started", {"pid": 1})
    return path


def outcome(index, rng, seconds):
    stages = (Stage("quality", "resnet", 100, seconds, {"accuracy": float(rng.random()), "seconds": seconds}),)
    if index % 5 == 1:
        return Rejected("quality", "resnet", {"accuracy": 0.1}, stages)
    return Failed("crash", "killed", stages) if index % 5 == 2 else Scores({"resnet": float(rng.random())}, stages)


def add_all(journal, indices):
    with journal.transaction():
        for index in indices:
            journal.add_proposal(Proposal(index, S0, "random", 0))


def add_one_by_one(journal, number):
    for index in range(number):
        add_all(journal, [index])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


def test_what_is_written_comes_back(path):
    proposal = Proposal(0, S0, "mutation", 7, (3, 4), 2, "evonorm-s0")
    free = Proposal(1, S0, "random", 0, rejected=Rejected("free:reads-x", None, {"why": 1}))
    with Journal.create(path, HEADER) as journal:
        with journal.transaction():
            journal.add_proposal(proposal)
            journal.add_proposal(free)
        with journal.transaction():
            journal.add_outcome(0, SCORES)
            journal.add_event("worker ended", {"pid": 12})
    with Reader(path) as reader:
        assert reader.header() == HEADER
        assert list(reader.candidates()) == [
            Candidate(proposal, SCORES, 20, 1.5),
            Candidate(free, free.rejected, 0, 0.0),
        ]
        assert [c.proposal.index for c in reader.candidates("arrival")] == [1, 0]
        assert [body for _, body in reader.events("worker ended")] == [{"pid": 12}]
        assert reader.candidate(0).outcome.average == 0.375


def test_the_reader_counts_and_ranks(path):
    write(path, 30)
    with Reader(path) as reader:
        candidates = list(reader.candidates())
        assert [c.proposal.index for c in candidates] == list(range(30))
        scored = [c for c in candidates if isinstance(c.outcome, Scores)]
        best = max(c.outcome.average for c in scored)
        assert reader.best_average() == best
        assert reader.best_by_anchor() == {"resnet": best}
        assert reader.verdicts() == {
            CandidateVerdict("failed"): 6,
            CandidateVerdict("rejected", "quality"): 6,
            CandidateVerdict("rejected", "free:reads-x"): 6,
            CandidateVerdict("scores"): 11,
            CandidateVerdict("pending"): 1,
        }
        assert [c.proposal.index for c in reader.pending()] == [28]
        assert reader.cost() == (100 * 23, 23.0)
        with pytest.raises(JournalError, match="no candidate 99; they are numbered 0 to 29"):
            reader.candidate(99)


def test_a_transaction_is_written_whole_or_not_at_all(path):
    with Journal.create(path, HEADER) as journal:
        with pytest.raises(JournalError):
            add_all(journal, [0, 1, 0])
        with journal.transaction():
            journal.add_proposal(Proposal(0, S0, "random", 0))
    with Reader(path) as reader:
        assert reader.proposed() == 1


def test_an_outcome_is_told_once(path):
    with Journal.create(path, HEADER) as journal:
        with journal.transaction():
            journal.add_proposal(Proposal(0, S0, "random", 0))
            journal.add_outcome(0, SCORES)
        with pytest.raises(JournalError, match="UNIQUE"), journal.transaction():
            journal.add_outcome(0, SCORES)


def test_readers_see_a_running_writer_and_do_not_block_it(path):
    with Journal.create(path, HEADER) as journal, Reader(path) as reader:
        for index in range(5):
            before = reader.candidates()
            list(before)
            with journal.transaction():
                journal.add_proposal(Proposal(index, S0, "random", 0))
                assert reader.proposed() == index  # not before it is committed
            assert reader.proposed() == index + 1
        slow = reader.candidates()
        next(slow)  # a reader that stopped half-way
        with journal.transaction():
            journal.add_proposal(Proposal(5, S0, "random", 0))
        with pytest.raises(JournalError, match="readonly"):
            reader.ask("DELETE FROM proposals")


def test_the_digest_ignores_times_and_workers_but_nothing_else(tmp_path):
    first = journal_digest(write(tmp_path / "a.sqlite"))
    assert first == journal_digest(write(tmp_path / "b.sqlite", seconds=99.0))
    assert first != journal_digest(write(tmp_path / "c.sqlite", seed=1))
    assert first != journal_digest(write(tmp_path / "d.sqlite", number=31))
    with Journal.open(tmp_path / "a.sqlite") as journal, journal.transaction():
        journal.add_event("worker ended", {"pid": 5})
    assert first == journal_digest(tmp_path / "a.sqlite")
    with Journal.open(tmp_path / "a.sqlite") as journal, journal.transaction():
        journal.add_outcome(28, SCORES)
    assert first != journal_digest(tmp_path / "a.sqlite")


def test_export_and_import_keep_everything(tmp_path, path):
    write(path, 300)
    size = export_journal(path, tmp_path / "run.evonorm")
    assert size < path.stat().st_size / 3
    assert exported_name(tmp_path / "run.evonorm") == "first"
    import_journal(tmp_path / "run.evonorm", tmp_path / "other.sqlite")
    assert journal_digest(tmp_path / "other.sqlite") == journal_digest(path)
    with Journal.open(tmp_path / "other.sqlite") as journal, journal.transaction():
        journal.add_outcome(298, SCORES)  # it goes on there
    with pytest.raises(JournalError, match="exists already"):
        import_journal(tmp_path / "run.evonorm", path)


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign"])
def test_a_damaged_export_is_refused_and_leaves_nothing(tmp_path, path, damage):
    write(path)
    file = tmp_path / "run.evonorm"
    export_journal(path, file)
    packed = file.read_bytes()
    middle = len(packed) // 2
    changed = {
        "cut": packed[:middle],
        "flipped": packed[:middle] + bytes([packed[middle] ^ 255]) + packed[middle + 1 :],
        "foreign": b"something else",
    }
    file.write_bytes(changed[damage])
    before = sorted(tmp_path.iterdir())
    with pytest.raises(JournalError, match=r"is not a file of|is damaged"):
        import_journal(file, tmp_path / "new.sqlite")
    assert sorted(tmp_path.iterdir()) == before


def bomb(path, size, declared=None):
    """A file whose content is zeros; the second version declares its size."""
    packed = lzma.compress(bytes(size), preset=1)
    digest = hashlib.sha256(bytes(size)).hexdigest()
    head = f"1\n{digest}\n" if declared is None else f"2\n{digest} {declared}\n"
    path.write_bytes(f"evonorm journal export {head}".encode() + packed)
    return path


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("evonorm.journal.transfer.SMALL", 2**22)
    large = 2**28
    for file, words in (
        (bomb(tmp_path / "declared.evonorm", large, large), "which in .* no journal has. It was not unpacked"),
        (bomb(tmp_path / "lying.evonorm", large, 1000), "holds more than it may: over 1,048,576 bytes"),
        (bomb(tmp_path / "old.evonorm", large), "holds more than it may: over [45],"),
    ):
        for read in (exported_name, lambda file: import_journal(file, tmp_path / "new" / "journal.sqlite")):
            tracemalloc.start()
            with pytest.raises(JournalError, match=words):
                read(file)
            assert tracemalloc.get_traced_memory()[1] < 40e6
            tracemalloc.stop()
    assert not (tmp_path / "new").exists()


def test_a_journal_of_another_version_is_refused(path):
    write(path)
    connection = sqlite3.connect(path)
    for version, age in ((0, "an older"), (99, "a newer")):
        connection.execute(f"PRAGMA user_version = {version}")
        for open_it in (Journal.open, Reader):
            with pytest.raises(JournalError, match=f"written by {age} evonorm"):
                open_it(path)
    connection.close()


def test_foreign_files_are_refused(tmp_path, path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    with pytest.raises(JournalError, match="not a journal of evonorm"):
        Reader(path)
    (tmp_path / "text.sqlite").write_text("this is no database, " * 100)
    for open_it in (Journal.open, Reader):
        with pytest.raises(JournalError, match="is damaged"):
            open_it(tmp_path / "text.sqlite")
        with pytest.raises(JournalError, match="there is no journal"):
            open_it(tmp_path / "missing.sqlite")
    with pytest.raises(JournalError, match="exists already"):
        Journal.create(path, HEADER)


@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_a_damaged_journal_is_told_before_anything_is_written(path, damage):
    write(path, 400)
    content = path.read_bytes()
    half = len(content) // 2
    path.write_bytes(
        content[:half] if damage == "cut" else content[:half] + os.urandom(4096 * 3) + content[half + 12288 :]
    )
    before = path.read_bytes()
    with pytest.raises(JournalError, match="is damaged"):
        Journal.open(path)
    assert path.read_bytes() == before


def test_a_crash_between_transactions_loses_nothing_that_was_committed(path):
    script = textwrap.dedent(f"""
        import os, signal, sys
        from pathlib import Path
        from evonorm.journal import Journal, Proposal, Scores
        from evonorm.graph import Graph
        journal = Journal.create(Path({str(path)!r}), {{"name": "killed"}})
        for index in range(10):
            with journal.transaction():
                journal.add_proposal(Proposal(index, Graph.parse("x"), "random", 0))
        journal.connection.execute("BEGIN IMMEDIATE")
        journal.add_proposal(Proposal(10, Graph.parse("x"), "random", 0))
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert (
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        ).returncode
        == -9
    )
    with Journal.open(path), Reader(path) as reader:
        assert reader.proposed() == 10


def test_a_full_disk_is_said_and_keeps_what_was_written(path):
    with Journal.create(path, HEADER) as journal:
        pages = journal.connection.execute("PRAGMA page_count").fetchone()[0]
        journal.connection.execute(f"PRAGMA max_page_count = {pages + 4}")  # SQLite's own way to have a small disk
        with pytest.raises(JournalFullError, match="All that was written before is safe"):
            add_one_by_one(journal, 10_000)
        with Reader(path) as reader:
            written = reader.proposed()
        assert 0 < written < 10_000
        journal.connection.execute("PRAGMA max_page_count = 1000000")
        with journal.transaction():
            journal.add_proposal(Proposal(written, S0, "random", 0))
    with Reader(path) as reader:
        assert reader.proposed() == written + 1


def test_a_network_disk_is_refused_with_the_reason(tmp_path):
    mounts = f"/dev/sda / ext4 rw 0 0\nserver:/home {tmp_path.resolve()} nfs4 rw 0 0\n"
    with pytest.raises(JournalError, match=r"network disk \(nfs4 at .*write-ahead log is not safe"):
        refuse_network_disk(tmp_path / "runs" / "journal.sqlite", mounts)
    refuse_network_disk(tmp_path / "journal.sqlite", "/dev/sda / ext4 rw 0 0\nserver:/x /elsewhere nfs rw 0 0\n")


def test_the_lock_names_its_owner_and_dies_with_it(tmp_path):
    with RunLock(tmp_path), pytest.raises(JournalError, match=f"written by process {os.getpid()}"):
        RunLock(tmp_path)
    taking = f"from pathlib import Path; from evonorm.journal import RunLock; lock = RunLock(Path({str(tmp_path)!r}))"
    script = f"import sys, time; sys.path[:0] = {sys.path!r}; {taking}; print(1, flush=True); time.sleep(99)"
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    owner.stdout.readline()
    with pytest.raises(JournalError, match=f"is being written by process {owner.pid}"):
        RunLock(tmp_path)
    (tmp_path / "lock").unlink()  # somebody who thinks that it was left behind
    with pytest.raises(JournalError, match="is being written by another process"):
        RunLock(tmp_path)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    RunLock(tmp_path).close()


def test_a_run_is_at_work_while_the_very_process_that_began_the_session_lives_here(path):
    here = {"pid": os.getpid(), "started": process_start_time(os.getpid()), "machine": {"host": platform.node()}}
    with Journal.create(path, HEADER) as journal, Reader(path) as reader:
        assert str(run_state(reader)) == "no session yet"
        for session, pid in (
            (here, os.getpid()),
            ({**here, "started": "an earlier process of this pid"}, None),
            ({**here, "machine": {"host": "elsewhere"}}, None),
            ({"pid": os.getpid(), "machine": here["machine"]}, os.getpid()),  # as the first schema had it
        ):
            with journal.transaction():
                journal.add_event(Event.SESSION_STARTED, session)
            assert run_state(reader).pid == pid
        with journal.transaction():
            journal.add_event(Event.SESSION_ENDED, {"why": "minutes"})
        assert run_state(reader).pid is None
        assert re.fullmatch(r"not running since .* UTC \(its time was up\)", str(run_state(reader)))


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        [],
        "scores",
        {"kind": "scores"},
        {"kind": "scores", "accuracies": {}},
        {"kind": "scores", "accuracies": {"a": float("nan")}},
        {"kind": "scores", "accuracies": "high"},
        {"kind": "scores", "accuracies": {"a": "0.5"}},
        {"kind": "other"},
        {"kind": "failed", "error": "e", "stages": [{"name": "n", "anchor": "a", "steps": "many", "seconds": 1}]},
        {"kind": "failed", "error": "e", "stages": [{"name": "n", "anchor": "a", "steps": 1, "seconds": float("nan")}]},
    ],
)
def test_what_is_no_outcome_is_told(garbage):
    with pytest.raises(ValueError):
        outcome_from_json(json.loads(json.dumps(garbage)))


def test_a_pasted_command_finds_the_run():
    assert RunFolder(Path("runs"), "first").command("resume") == "evonorm resume first"
    elsewhere = RunFolder(Path("my runs"), "first")
    assert elsewhere.command("show", "CANDIDATE") == "evonorm show first CANDIDATE --runs 'my runs'"
