"""Every word of a journal has one owner, and an explanation for people."""

import json
import re
from pathlib import Path

import pytest

from evonorm.journal import End, Origin, Rejected, StageKey, Test, outcome_from_json, outcome_to_json
from evonorm.journal.words import DEPTH_CHECKS, FREE_CHECKS
from evonorm.runner.budget import Budget

PACKAGE = Path(__file__).parents[2] / "evonorm"
ROOMS_WITHOUT_SQL = sorted(path for path in PACKAGE.rglob("*.py") if "journal" not in path.parts)


def test_every_end_of_a_session_is_explained():
    for why in (*Budget().to_json(), "stopped"):
        assert End.explain(why)


def test_what_nobody_knows_has_no_explanation():
    assert Test.explain("a test of next year") is None
    assert Origin.explain("hand-made") is None
    assert End.explain("a power cut") is None


def test_a_word_is_its_text_where_it_is_stored():
    assert json.dumps([Test.READS_X, Origin.RANDOM]) == '["free:reads-x", "random"]'
    assert {*FREE_CHECKS, *DEPTH_CHECKS} == {test for test in Test if test.startswith("free:")}


def test_a_rung_is_a_number_beside_the_name():
    rejected = Rejected(Test.RUNG, "wide", {}, (), 2)
    assert outcome_from_json(json.loads(json.dumps(outcome_to_json(rejected)))) == rejected
    assert rejected.verdict.label == "rung 2"
    assert StageKey.from_json({"name": "rung", "rung": 2, "anchor": "wide"}) == StageKey(Test.RUNG, "wide", 2)
    assert StageKey.from_json({"name": "what I call it"}) == StageKey("what I call it", "")


@pytest.mark.parametrize("path", ROOMS_WITHOUT_SQL, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_questions_in_sql_are_asked_in_the_journals_room_alone(path):
    assert not re.search(r"\bSELECT\b|\.connection\b|\bsqlite3\b|reader\.ask\(", path.read_text())


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_names_of_tests_are_written_once(path):
    if path != PACKAGE / "journal" / "words.py":
        text = path.read_text()
        assert not [test for test in Test if test.startswith("free:") and test in text]
        assert path.name == "schema1.py" or ("rung {" not in text and '"rung ' not in text)
