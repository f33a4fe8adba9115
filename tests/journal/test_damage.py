"""Damage is noticed, named and mended: every row has its link in the chain, and what was written is counted."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from evonorm.journal import (
    DamagedJournalError,
    Event,
    Journal,
    JournalError,
    Reader,
    RunFolder,
    Scores,
    Snapshots,
    check_journal,
    export_journal,
    import_journal,
    journal_digest,
    repair_journal,
    snapshot_path,
)
from evonorm.journal.chain import TABLES
from evonorm.journal.schema import files_of
from tests.journal.test_journal import write

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "journal.sqlite", 60)


def change(path, statement, *values):
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


@pytest.mark.parametrize("table", TABLES)
def test_a_changed_value_in_any_column_is_named_with_its_row(path, table):
    key, *columns = TABLES[table]
    whole = path.read_bytes()
    row = sqlite3.connect(path).execute(f"SELECT max({key}) FROM {table}").fetchone()[0]
    for column in columns:
        path.write_bytes(whole)
        if column in ("free", "steps"):
            change(path, f"UPDATE {table} SET {column} = {column} + 1 WHERE {key} = {row}")
        elif column in ("time", "seconds"):
            change(path, f"UPDATE {table} SET {column} = {column} + 0.001 WHERE {key} = {row}")
        elif column == "idx":
            change(path, f"UPDATE {table} SET idx = 58 WHERE {key} = {row}")
        elif column in ("rung", "average", "test"):
            change(path, f"UPDATE {table} SET {column} = coalesce({column}, 0) || 1 WHERE {key} = {row}")
        else:
            change(path, f"UPDATE {table} SET {column} = {column} || ' ' WHERE {key} = {row}")
        for ask in (check_journal, journal_digest, Journal.open):
            with pytest.raises(DamagedJournalError, match=rf"damaged \({table}, row {row}: not what was written"):
                ask(path)


def test_a_row_that_is_gone_or_changed_places_is_named(path):
    whole = path.read_bytes()
    change(path, "DELETE FROM outcomes WHERE arrival = 7")
    with pytest.raises(DamagedJournalError, match="outcomes, row 8"):
        check_journal(path)
    path.write_bytes(whole)
    change(path, "UPDATE events SET id = 99 WHERE id = 1")
    with pytest.raises(DamagedJournalError, match="events, row 99"):
        check_journal(path)
    path.write_bytes(whole)
    change(path, """UPDATE header SET value = '"second"' WHERE key = 'name'""")
    with pytest.raises(DamagedJournalError, match="header"):
        check_journal(path)
    path.write_bytes(whole)
    assert check_journal(path) == {"proposals": 60, "outcomes": 59, "events": 1}


def test_rows_of_a_transaction_that_broke_off_leave_no_trace_in_the_chain(path):
    def break_off(journal):
        with journal.transaction():
            journal.add_event("half", {})
            raise RuntimeError

    with Journal.open(path) as journal:
        with pytest.raises(RuntimeError):
            break_off(journal)
        with journal.transaction():
            journal.add_event("whole", {})
    assert check_journal(path)["events"] == 2


def killed_writer(path, rows=40):
    """A journal whose newest rows are in the write-ahead log alone, as a killed driver leaves it."""
    script = textwrap.dedent(f"""
        import os, signal
        from pathlib import Path
        from evonorm.graph import Graph
        from evonorm.journal import Journal, Proposal, Scores
        journal = Journal.create(Path({str(path)!r}), {{"name": "killed", "identity": {{}}}})
        for index in range({rows}):
            with journal.transaction():
                journal.add_proposal(Proposal(index, Graph.parse("x"), "random", 0))
                journal.add_outcome(index, Scores({{"a": 0.5}}))
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT).returncode == -9
    assert check_journal(path)["outcomes"] == rows
    return path


def test_a_missing_or_cut_log_is_not_taken_for_an_empty_run(tmp_path):
    path = killed_writer(tmp_path / "journal.sqlite")
    log = Path(f"{path}-wal")
    content = log.read_bytes()
    for damaged in (b"", content[: len(content) // 2], content[:5000] + b"\xff" + content[5001:]):
        Path(f"{path}-shm").unlink(missing_ok=True)
        log.write_bytes(damaged)
        for open_it in (Reader, Journal.open):
            with pytest.raises(DamagedJournalError, match=r"up to number 39 were written, and it ends with"):
                open_it(path)
    log.unlink()
    with pytest.raises(DamagedJournalError, match="its write-ahead log is missing"):
        Reader(path)


def test_a_journal_copied_alone_while_it_is_written_is_refused(tmp_path):
    path = killed_writer(tmp_path / "journal.sqlite")
    (tmp_path / "copy").mkdir()
    copy = Path(shutil.copy(path, tmp_path / "copy"))
    with pytest.raises(DamagedJournalError, match="copied without its write-ahead log while a driver wrote it"):
        Reader(copy)
    export_journal(path, tmp_path / "live.evonorm")  # the way to copy it
    import_journal(tmp_path / "live.evonorm", tmp_path / "copy" / "there.sqlite")
    assert check_journal(tmp_path / "copy" / "there.sqlite")["outcomes"] == 40


def test_at_rest_a_journal_is_one_file_and_a_copy_of_it_is_whole(tmp_path, path):
    assert not Path(f"{path}-wal").exists()
    copy = Path(shutil.copy(path, tmp_path / "copy.sqlite"))
    assert check_journal(copy)["proposals"] == 60
    assert journal_digest(copy) == journal_digest(path)


def test_what_another_program_moved_out_of_the_log_is_not_missed(tmp_path):
    path = killed_writer(tmp_path / "journal.sqlite")
    change(path, "SELECT 1")  # e.g. the sqlite3 shell: checkpoints on leaving
    assert check_journal(path)["outcomes"] == 40


def test_an_older_copy_in_the_journals_place_is_noticed(tmp_path, path):
    older = path.read_bytes()
    with Journal.open(path) as journal, journal.transaction():
        journal.add_event("later", {})
    path.write_bytes(older)
    with pytest.raises(DamagedJournalError, match="events up to number 2 were written, and it ends with 1"):
        Reader(path)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW more AS SELECT * FROM outcomes",
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM outcomes; END",
        "CREATE TABLE other (a)",
        "CREATE INDEX other ON events(length(body))",
        "ALTER TABLE events ADD COLUMN b",
        "DROP INDEX outcomes_by_average",
    ],
)
def test_a_schema_that_is_not_ours_is_refused(path, statement):
    change(path, statement)
    for open_it in (Reader, Journal.open):
        with pytest.raises(DamagedJournalError, match=r"no journal of evonorm, or damaged: it has"):
            open_it(path)


def test_a_version_that_lies_about_itself_is_noticed(path):
    for version in (1, 2):
        change(path, f"PRAGMA user_version = {version}")
        with pytest.raises(DamagedJournalError, match="no journal of evonorm, or damaged"):
            Reader(path)


def run_of(tmp_path, candidates=30):
    from tests.runner.test_run_search import FAKE, search

    return search(tmp_path, "run", FAKE, candidates=candidates)[0]


@pytest.mark.parametrize("damage", ["outcome", "proposal", "page", "log"])
def test_repair_keeps_the_good_part_and_the_search_ends_as_if_nothing_had_been(tmp_path, damage):
    from evonorm.runner import Budget, resume_search

    folder = run_of(tmp_path)
    whole = journal_digest(folder.journal)
    if damage == "outcome":
        change(folder.journal, "UPDATE outcomes SET body = replace(body, '0.', '1.') WHERE arrival = 20")
    elif damage == "proposal":
        change(folder.journal, "UPDATE proposals SET graph = 'add:0,0' WHERE idx = 25")
    elif damage == "page":
        content = bytearray(folder.journal.read_bytes())
        content[-4096 * 3 : -4096] = b"\xa5" * 8192
        folder.journal.write_bytes(content)
    else:
        Path(f"{folder.journal}-rows").write_text("999 999 999\n")
    with pytest.raises(DamagedJournalError):
        resume_search(folder, Budget(candidates=30))
    done = repair_journal(folder.journal)
    assert done.damaged.exists()
    assert check_journal(folder.journal)["proposals"] == done.kept["proposals"]
    with folder.reader() as reader:
        assert reader.events(Event.REPAIRED)
    resume_search(folder, Budget(candidates=30))
    assert journal_digest(folder.journal) == whole


def test_repair_takes_the_snapshot_where_that_has_more(tmp_path):
    folder = run_of(tmp_path)
    whole = journal_digest(folder.journal)
    with Snapshots(folder.journal, at_the_end=0.0):
        pass
    assert snapshot_path(folder.journal).exists()
    folder.journal.write_bytes(b"\x00" * 4096 + folder.journal.read_bytes()[4096:])
    done = repair_journal(folder.journal)
    assert done.source == snapshot_path(folder.journal)
    assert journal_digest(folder.journal) == whole


def test_what_cannot_be_repaired_is_said_and_left_as_it_is(tmp_path, path):
    path.write_bytes(b"\x00" * path.stat().st_size)
    before = {each: each.read_bytes() for each in files_of(path) if each.exists()}
    with pytest.raises(JournalError, match=r"cannot be repaired: its header is damaged and there is no snapshot"):
        repair_journal(path)
    assert {each: each.read_bytes() for each in files_of(path) if each.exists()} == before


def test_snapshots_are_made_meanwhile_and_not_more_often_than_their_cost_allows(path):
    with Snapshots(path, seconds=0.01) as made:
        made._thread.join(0.5)
        assert made._left(0.01) > 0 or made._took == 0.0
        assert made._took <= 0.5
    import_journal(snapshot_path(path), path.with_name("copy.sqlite"))
    assert journal_digest(path.with_name("copy.sqlite")) == journal_digest(path)


def test_a_flipped_digit_anywhere_is_noticed_or_changes_nothing(path):
    """Two hundred single digits of the file's text and two hundred bits anywhere."""
    whole, digest = path.read_bytes(), journal_digest(path)
    rng = random.Random(0)
    digits = [place for place, byte in enumerate(whole) if 48 <= byte < 58]
    noticed = 0
    for case in range(400):
        content = bytearray(whole)
        if case % 2:
            place = rng.choice(digits)
            content[place] = rng.choice([each for each in range(48, 58) if each != content[place]])
        else:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        try:
            found = journal_digest(path)
        except JournalError:
            noticed += 1
        else:
            assert found == digest, f"case {case} was silent"
    assert noticed > 200


def test_status_and_top_notice_it_too(tmp_path):
    folder = run_of(tmp_path)
    change(folder.journal, "UPDATE outcomes SET average = average + 0.1 WHERE arrival = 5 AND average IS NOT NULL")
    change(folder.journal, "UPDATE outcomes SET steps = steps + 1 WHERE arrival = 6")
    with pytest.raises(DamagedJournalError, match="outcomes, row"):
        RunFolder(tmp_path, "run").checked_reader()


def test_scores_that_json_brings_as_whole_numbers_keep_the_chain(tmp_path):
    """SQLite turns 10.0 steps into 10 and 3 seconds into 3.0: seals must be of what comes back."""
    from evonorm.graph import Graph
    from evonorm.journal import Proposal, Stage

    path = tmp_path / "journal.sqlite"
    with Journal.create(path, {"name": "n"}) as journal, journal.transaction():
        journal.add_proposal(Proposal(0, Graph.parse("x"), "random", 0))
        journal.add_outcome(0, Scores({"a": 1}, (Stage("training", "a", 10.0, 3),)))
    assert check_journal(path)["outcomes"] == 1
