"""The command line of a search, from begin to export; and what it says to mistakes."""

import json
import os
import resource
import signal
import subprocess
import sys
import time

import pytest
import torch

from evonorm.cli import main
from evonorm.journal import CandidateVerdict, RunFolder, journal_digest
from evonorm.layers import NormAct

RECIPE = """
seed = 5
evaluate = "tests.runner.fake_fitness:by_hash"

[search]
window = 20
smallest_tournament = 4
lag = 4

[workers]
kind = "inline"
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "fake.toml").write_text(RECIPE)
    return tmp_path


@pytest.fixture
def evonorm(monkeypatch, capsys, place):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["evonorm", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out + captured.err

    return run


def test_a_run_from_begin_to_export(evonorm, place):
    code, text = evonorm("search", "fake.toml", "--name", "first", "--candidates", 30)
    assert code == 0
    assert "evonorm resume first --candidates MORE." in text
    assert "bn-relu" in text
    assert (place / "runs/first/recipe.toml").read_text() == RECIPE

    code, text = evonorm("resume", "first", "--candidates", 40)
    assert code == 0
    code, text = evonorm("status", "first")
    assert "not running" in text
    assert "free:reads-x" in text

    found = json.loads(evonorm("top", "first", "-n", 3, "--json")[1])
    assert len(found["top"]) == 3
    assert [row["name"] for row in found["references"]] == ["bn-relu", "evonorm-b0"]
    best = found["top"][0]
    assert best["average"] == max(row["average"] for row in found["top"])
    assert str(best["candidate"]) in evonorm("top", "first", "-n", 3)[1]

    children = [row["candidate"] for row in json.loads(evonorm("top", "first", "-n", 99, "--json")[1])["top"]]
    pages = {candidate: evonorm("show", "first", candidate)[1] for candidate in children}
    assert best["formula"] in pages[best["candidate"]]
    assert "how it fared" in pages[best["candidate"]]
    assert any("ancestry" in page for page in pages.values())

    code, text = evonorm("export", "first", best["candidate"], "layer.py")
    assert code == 0
    namespace = {}
    exec((place / "layer.py").read_text(), namespace)
    x = torch.randn(2, 8, 4, 4)
    torch.testing.assert_close(namespace["FoundNormAct"](8)(x), NormAct(best["formula"], 8)(x), equal_nan=True)
    assert evonorm("export", "first", best["candidate"], "layer.py")[0] == 2  # never writes over a file


def test_a_run_travels(evonorm, place):
    evonorm("search", "fake.toml", "--name", "first", "--candidates", 20)
    evonorm("search", "fake.toml", "--name", "whole", "--candidates", 40)
    assert evonorm("journal", "export", "first", "first.evonorm")[0] == 0
    assert evonorm("journal", "import", "first.evonorm", "--runs", "elsewhere")[0] == 0
    assert evonorm("resume", "first", "--runs", "elsewhere", "--candidates", 40)[0] == 0
    here, there = (
        evonorm("journal", "digest", "whole")[1],
        evonorm("journal", "digest", "first", "--runs", "elsewhere")[1],
    )
    assert here == there
    assert evonorm("journal", "import", "first.evonorm")[0] == 2
    assert evonorm("journal", "import", "first.evonorm", "--name", "second")[0] == 0
    assert evonorm("journal", "export", "first", "first.evonorm", "--slim")[0] == 2  # never writes over a file
    assert evonorm("journal", "export", "first", "first.evonorm", "--slim", "--force")[0] == 0
    assert evonorm("journal", "import", "first.evonorm", "--name", "third")[0] == 0


def test_a_run_without_a_name_gets_a_fresh_one(evonorm, place):
    for number in (1, 2):
        assert f"run fake-{number}" in evonorm("search", "fake.toml", "--candidates", 2)[1]


def test_other_workers_and_seeds(evonorm, place):
    evonorm("search", "fake.toml", "--name", "a", "--candidates", 10)
    evonorm("search", "fake.toml", "--name", "b", "--candidates", 10, "--workers", 2, "--no-pin")
    evonorm("search", "fake.toml", "--name", "c", "--candidates", 10, "--seed", 6)
    digests = [journal_digest(RunFolder(place / "runs", name).journal) for name in "abc"]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "missing.toml"], "there is no recipe missing.toml"),
        (["search", "fake.toml", "--name", "a/b"], "a run's name is made of"),
        (["search", "fake.toml", "--minutes", "-1"], "--minutes must be above 0, got -1"),
        (["search", "fake.toml", "--candidates", "0"], "--candidates must be above 0"),
        (["search", "fake.toml", "--candidates", "many"], "Invalid value for '--candidates'"),
        (["search", "fake.toml", "--workers", "-1"], "--workers must not be negative"),
        (["search", "wrong.toml"], "unknown key 'tournament'. Did you mean 'tournament_share'"),
        (["search", "zero.toml"], "tournament_share must lie above 0 and not above 1, got 0.0"),
        (["search", "fake.toml", "--name", "done"], "there is a run 'done' in runs already"),
        (["resume", "nothing"], "there is no run 'nothing' in runs. Known runs: done"),
        (["resume", "done", "zero.toml"], "tournament_share"),
        (["resume", "done", "other.toml"], "other.toml is not the recipe of run 'done'"),
        (["status", "nothing"], "there is no run"),
        (["top", "nothing"], "there is no run"),
        (["show", "done", "999"], "the run has no candidate 999"),
        (["export", "done", "2", "layer.py", "--class", "1x"], "Python identifier"),
        (["export", "done", "0", "layer.py"], "bn-relu is a reference"),
        (["journal", "digest", "nothing"], "there is no run"),
        (["journal", "import", "fake.toml"], "is not a file of"),
        (["journal", "import", "missing.evonorm"], "No such file"),
    ],
)
def test_a_mistake_is_one_message_and_changes_nothing(evonorm, place, arguments, message):
    (place / "wrong.toml").write_text(RECIPE.replace("window = 20", "tournament = 3"))
    (place / "zero.toml").write_text(RECIPE.replace("window = 20", "tournament_share = 0.0"))
    (place / "other.toml").write_text(RECIPE.replace("seed = 5", "seed = 6"))
    evonorm("search", "fake.toml", "--name", "done", "--candidates", 2)
    before = {
        path: path.stat().st_mtime_ns for path in place.rglob("*") if path.suffix not in (".sqlite-shm", ".sqlite-wal")
    }
    code, text = evonorm(*arguments)
    assert code == 2
    assert message in " ".join(text.replace("│", " ").split())
    assert "Traceback" not in text
    after = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    assert {path: after[path] for path in before if path.is_file()} == {p: t for p, t in before.items() if p.is_file()}
    assert {path.name for path in after.keys() - before.keys()} <= {"journal.sqlite-shm", "journal.sqlite-wal"}


def start(place, *arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "FAKE_FITNESS_LOG": str(place / "log")}
    command = [sys.executable, "-c", "from evonorm.cli import main; main()", *arguments]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=place, **options
    )


def wait_for_evaluations(place, number):
    deadline = time.monotonic() + 120
    while not (place / "log").exists() or len((place / "log").read_text().splitlines()) < number:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_full_disk_ends_the_run_cleanly(place, evonorm):
    """The operating system refuses to let files grow, as a full disk would."""
    limit = 200_000
    process = start(
        place,
        *("search", "fake.toml", "--name", "full"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 1, text
    assert "All that was written before is safe" in text
    assert "evonorm resume full" in text
    assert "Traceback" not in text
    folder = RunFolder(place / "runs", "full")
    with folder.reader() as reader:
        done = reader.verdicts()[CandidateVerdict("scores")]
        assert done > 5
    bound = 3 * done
    assert evonorm("resume", "full", "--candidates", bound)[0] == 0
    assert evonorm("search", "fake.toml", "--name", "roomy", "--candidates", bound)[0] == 0
    assert journal_digest(folder.journal) == journal_digest(RunFolder(place / "runs", "roomy").journal)


def test_ctrl_c_once_says_how_to_go_on_and_twice_ends_at_once(place):
    slow = RECIPE.replace('"inline"', '"processes"') + "number = 2\n[fitness]\nseconds = 0.2\n"
    (place / "fake.toml").write_text(slow)
    process = start(place, "search", "fake.toml", "--name", "once")
    wait_for_evaluations(place, 4)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Stopped; all is written. Go on: evonorm resume once" in " ".join(text.split())

    (place / "log").unlink()
    process = start(place, "resume", "once", "--workers", "0")
    wait_for_evaluations(place, 2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=60)
    assert process.returncode in (0, 130)
    assert "evonorm resume once" in text
    with RunFolder(place / "runs", "once").reader() as reader:
        assert reader.proposed() > 4
