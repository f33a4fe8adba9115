import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

from evonorm.journal import KeptResults
from evonorm.journal.kept import add_record, key_of, read_records

QUESTION = {"what": "training", "layer": "bn-relu", "seed": 0, "recipe": {"training": {"steps": 4}}}


def add_many(path, who):
    kept = KeptResults(path)
    for number in range(50):
        kept.keep({"who": who, "number": number}, {"padding": "x" * 5000, "square": number**2})


def test_several_processes_add_to_one_file(tmp_path):
    path = tmp_path / "folder" / "outcomes.jsonl"
    kept = KeptResults(path)
    assert list(kept.records()) == []
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(add_many, [path] * 2, range(2)))
    assert path.read_bytes().count(b"\n") == len(list(kept.records())) == 100
    for who in range(2):
        for number in range(50):
            assert kept.find({"number": number, "who": who})["square"] == number**2


def test_a_torn_line_costs_nothing_but_itself(tmp_path):
    path = tmp_path / "outcomes.jsonl"
    for number in range(3):
        add_record(path, {"number": number})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        add_record(path, {"number": "next"})
        assert [each["number"] for each in read_records(path)] == [*range(whole[:length].count(b"}")), "next"]


def test_a_torn_result_is_asked_again_and_the_others_stay(tmp_path):
    path = tmp_path / "outcomes.jsonl"
    for seed in range(2):
        KeptResults(path).keep({**QUESTION, "seed": seed}, {"accuracy": seed / 4})
    whole = path.read_bytes()
    first = whole.index(b"\n")
    for length in range(first + 1, len(whole) - 1):
        path.write_bytes(whole[:length])
        kept = KeptResults(path)
        assert kept.find(QUESTION) == {"accuracy": 0.0}
        assert kept.find({**QUESTION, "seed": 1}) is None
    kept.keep({**QUESTION, "seed": 1}, {"accuracy": 0.5})
    assert kept.find({**QUESTION, "seed": 1}) == {"accuracy": 0.5} == KeptResults(path).find({**QUESTION, "seed": 1})


def test_whatever_decides_the_answer_is_part_of_the_key():
    same = {"seed": 0, "recipe": {"training": {"steps": 4}}, "layer": "bn-relu", "what": "training"}
    assert key_of(same) == key_of(QUESTION)
    others = [
        {**QUESTION, "layer": "bn-silu"},
        {**QUESTION, "seed": 1},
        {**QUESTION, "what": "evaluation"},
        {**QUESTION, "recipe": {"training": {"steps": 5}}},
        {**QUESTION, "recipe": {"training": {"steps": 4}, "threads": 1}},
    ]
    assert len({key_of(each) for each in (QUESTION, *others)}) == 6


def test_a_record_says_what_was_asked_and_where_it_comes_from(tmp_path):
    kept = KeptResults(tmp_path, {"commit": "abc", "machine": {"cores": 2}})
    kept.keep(QUESTION, {"accuracy": 0.5})
    (record,) = kept.records()
    assert kept.path == tmp_path / "outcomes.jsonl"
    assert json.loads(kept.path.read_text()) == record
    assert record["question"] == QUESTION
    assert record["key"] == key_of(record["question"])
    assert (record["commit"], record["machine"], record["answer"]) == ("abc", {"cores": 2}, {"accuracy": 0.5})
    assert record["date"].startswith("20")


def test_files_are_joined_by_cat_and_the_later_line_holds(tmp_path):
    one, other = KeptResults(tmp_path / "one.jsonl"), KeptResults(tmp_path / "other.jsonl")
    one.keep(QUESTION, {"accuracy": 0.1})
    other.keep(QUESTION, {"accuracy": 0.2})
    other.keep({**QUESTION, "seed": 1}, {"accuracy": 0.3})
    (tmp_path / "both.jsonl").write_bytes(one.path.read_bytes() + other.path.read_bytes())
    both = KeptResults(tmp_path / "both.jsonl")
    assert [record["answer"]["accuracy"] for record in both.records()] == [0.2, 0.3]


def test_what_unfinished_work_goes_on_from_ends_with_the_result(tmp_path):
    kept = KeptResults(tmp_path)
    mine, others = kept.partial(QUESTION), kept.partial({**QUESTION, "seed": 1})
    assert not mine.parent.exists()
    for place in (mine, others):
        place.mkdir(parents=True)
        (place / "training.pt").write_bytes(b"weights")
    kept.keep(QUESTION, {"accuracy": 0.5})
    assert [path.name for path in mine.parent.iterdir()] == [others.name]
    mine.mkdir()  # left behind by somebody who was killed between keeping and clearing up
    assert kept.unfinished() == KeptResults(tmp_path).unfinished() == 1
    mine.rmdir()
    kept.keep({**QUESTION, "seed": 1}, {"accuracy": 0.5})
    assert [path.name for path in tmp_path.iterdir()] == ["outcomes.jsonl"]


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "verdicts.jsonl").write_text('{"data": "cifar10", "threads": 1}\n')
    with pytest.raises(ValueError, match="is no file of kept results"):
        KeptResults(tmp_path / "verdicts.jsonl").find(QUESTION)


def test_people_are_told_what_was_there_already(tmp_path):
    told = []
    kept = KeptResults(tmp_path, listener=lambda *event: told.append(event))
    kept.keep(QUESTION, {})
    kept.keep({**QUESTION, "seed": 1}, {"accuracy": 0.5})
    questions = [{**QUESTION, "seed": seed} for seed in range(3)]
    kept.expect(questions, "trainings")
    kept.expect(questions[:2], "trainings")
    assert told == [
        (f"2 of 3 trainings are kept in {kept.path}; 1 to go.", 1),
        (f"2 of 2 trainings are kept in {kept.path}; nothing is trained.", 0),
    ]


WRITER = """
import sys
from pathlib import Path
from evonorm.journal import KeptResults
kept = KeptResults(Path(sys.argv[1]))
for number in range(int(sys.argv[2]), 10**6):
    kept.keep({"number": number}, {"padding": "x" * 2_000_000, "number": number})
"""


def test_a_kill_in_the_middle_of_a_write_loses_that_line_at_most(tmp_path):
    path, known = tmp_path / "outcomes.jsonl", 0
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(known)])
        before = path.stat().st_size if path.exists() else 0
        while process.poll() is None and (not path.exists() or path.stat().st_size < before + 5_000_000):
            time.sleep(0.0005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        numbers = [record["answer"]["number"] for record in KeptResults(path).records()]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) >= known + 2
        known = len(numbers)
