"""A journal of the first schema, made by the code of that time, still opens, is reported and goes on.

`schema1.evonorm` is a search of 40 candidates with a ladder, shared scores and evaluations that broke;
`schema1_top.txt` is what `evonorm top` said of it then.
"""

import json
import sqlite3
from pathlib import Path

import pytest

from evonorm.cli.leaderboard import leaderboard_text
from evonorm.journal import (
    CandidateVerdict,
    Failed,
    Journal,
    Reader,
    RunFolder,
    StageKey,
    Test,
    export_journal,
    import_journal,
    journal_digest,
    leaderboard,
    read_ledger,
)
from evonorm.journal.schema1 import new_header
from evonorm.journal.transfer import unpack
from evonorm.report import Run, write_report
from evonorm.runner.budget import Budget
from evonorm.runner.recipe import recipe_from_table
from evonorm.runner.run_search import resume_search, start_search, stored_recipe

EXPORT = Path(__file__).with_name("schema1.evonorm")
ROOT = Path(__file__).parents[2]
COMMITTED = sorted(file for place in ("docs", "studies") for file in (ROOT / place).rglob("*.evonorm"))


@pytest.fixture
def old(tmp_path):
    """As such a journal lies in a folder of runs: not imported, so not touched yet."""
    folder = RunFolder(tmp_path / "runs", "old")
    folder.path.mkdir(parents=True)
    unpack(EXPORT, folder.journal)
    return folder


def version(path):
    connection = sqlite3.connect(path)
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return found


def check_words(reader):
    verdicts = reader.verdicts()
    assert verdicts[CandidateVerdict("rejected", Test.RUNG, 2)] == 11
    assert verdicts[CandidateVerdict("failed")] == 5
    assert read_ledger(reader)[StageKey(Test.RUNG, "wide", 1)].candidates == 37
    failed = [row.outcome for row in reader.candidates() if isinstance(row.outcome, Failed)]
    assert {outcome.reason for outcome in failed} == {"error"}
    assert all(outcome.error.startswith("Traceback") for outcome in failed)


def test_it_is_read_as_it_is_and_nothing_is_written(old):
    before = old.journal.read_bytes()
    with old.reader() as reader:
        check_words(reader)
        text = leaderboard_text(leaderboard(reader, 10), reader.references()).plain
    assert text == EXPORT.with_name("schema1_top.txt").read_text()
    report = write_report(old.runs, "old", old.runs / "report")
    assert "rung 2" in report.read_text()
    assert [row["index"] for row in Run("old", old.runs).top(3)] == [257, 265, 215]
    assert old.journal.read_bytes() == before
    assert version(old.journal) == 1


def test_it_goes_on_as_if_nothing_had_been(old, tmp_path):
    with old.reader() as reader:
        recipe = stored_recipe(reader)
    assert resume_search(old, Budget(candidates=70), trusted=True) == "candidates"
    assert version(old.journal) == 3
    whole = RunFolder(tmp_path / "whole", "whole")
    start_search(whole, recipe, Budget(candidates=70))
    assert journal_digest(old.journal) == journal_digest(whole.journal)


def test_the_translation_is_the_same_for_who_reads_and_who_writes(old, tmp_path):
    read = journal_digest(old.journal)
    export_journal(old.journal, tmp_path / "new.evonorm")
    import_journal(tmp_path / "new.evonorm", tmp_path / "there_and_back.sqlite")
    import_journal(EXPORT, tmp_path / "imported.sqlite")
    for path in (tmp_path / "imported.sqlite", tmp_path / "there_and_back.sqlite"):
        assert version(path) == 3
        assert journal_digest(path) == read
        with Reader(path) as reader:
            check_words(reader)
    assert version(old.journal) == 1
    Journal.open(old.journal).close()
    assert (version(old.journal), journal_digest(old.journal)) == (3, read)


def test_a_translation_that_breaks_off_leaves_the_old_file(old):
    connection = sqlite3.connect(old.journal)
    connection.execute("UPDATE outcomes SET body = 'no JSON' WHERE arrival = (SELECT max(arrival) FROM outcomes)")
    connection.commit()
    rows = connection.execute("SELECT * FROM outcomes").fetchall()
    with pytest.raises(ValueError):
        Journal.open(old.journal)
    assert connection.execute("SELECT * FROM outcomes").fetchall() == rows
    connection.close()
    assert version(old.journal) == 1


@pytest.mark.parametrize(
    ("table", "name", "value", "without_effect"),
    [
        ("search", "generator", "live", "paper"),
        ("search", "start", "enumerated", "random"),
        ("rung", "hurdle", 25.0, 0.0),
        ("rung", "give_up", True, False),
    ],
)
def test_what_used_a_setting_that_is_gone_can_be_read_and_not_gone_on_with(old, table, name, value, without_effect):
    connection = sqlite3.connect(old.journal)
    recipe = json.loads(connection.execute("SELECT value FROM header WHERE key = 'recipe'").fetchone()[0])
    where = recipe["search"] if table == "search" else recipe["fitness"]["ladder"][1]
    where[name] = without_effect
    recipe_from_table(json.loads(new_header("recipe", json.dumps(recipe))), "here")
    where[name] = value
    connection.execute("UPDATE header SET value = ? WHERE key = 'recipe'", (json.dumps(recipe),))
    connection.commit()
    connection.close()
    with pytest.raises(ValueError, match=rf"was made with {name} = {json.dumps(value)}, which evonorm no longer has"):
        resume_search(old, Budget(candidates=70))
    with old.reader() as reader:
        check_words(reader)
    assert version(old.journal) == 1


@pytest.mark.parametrize("file", COMMITTED, ids=lambda path: path.stem)
def test_every_committed_journal_opens_and_all_but_the_study_of_hurdles_can_go_on(tmp_path, file):
    import_journal(file, tmp_path / "journal.sqlite")
    with Reader(tmp_path / "journal.sqlite") as reader:
        if file.stem.startswith("evolution-"):
            with pytest.raises(ValueError, match=r"made with hurdle = 30.0, give_up = true, hurdle = 50.0, which"):
                stored_recipe(reader)
        else:
            assert stored_recipe(reader).evaluate == "evonorm.runner.evaluation_task:evaluate_candidate"
        assert len(leaderboard(reader, 3)) <= 3
        assert len(read_ledger(reader)) > 3
        assert reader.references()
