from concurrent.futures import ProcessPoolExecutor

from evonorm.journal.records import add_record, read_records


def add_many(path, who):
    for number in range(50):
        add_record(path, {"who": who, "number": number, "padding": "x" * 5000})


def test_several_processes_add_to_one_file(tmp_path):
    path = tmp_path / "folder" / "records.jsonl"
    assert read_records(path) == []
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(add_many, [path] * 2, range(2)))
    found = read_records(path)
    assert len(found) == 100
    assert {(each["who"], each["number"]) for each in found} == {(who, k) for who in range(2) for k in range(50)}


def test_a_torn_line_costs_nothing_but_itself(tmp_path):
    path = tmp_path / "records.jsonl"
    for number in range(3):
        add_record(path, {"number": number})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        add_record(path, {"number": "next"})
        assert [each["number"] for each in read_records(path)] == [*range(whole[:length].count(b"}")), "next"]
