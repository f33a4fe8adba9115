"""The command line of a search, from begin to export; and what it says to mistakes."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

import pytest
import torch

from evonorm.cli import main
from evonorm.graph import Graph
from evonorm.journal import (
    CandidateVerdict,
    Failed,
    Journal,
    Proposal,
    Rejected,
    RunFolder,
    Scores,
    Stage,
    journal_digest,
)
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
    code, text = evonorm("resume", "first", "--runs", "elsewhere", "--candidates", 40)
    assert code == 2
    assert "judges candidates by the function tests.runner.fake_fitness:by_hash" in " ".join(text.split())
    assert evonorm("resume", "first", "--runs", "elsewhere", "--candidates", 30, "--trust")[0] == 0
    assert evonorm("resume", "first", "--runs", "elsewhere", "--candidates", 40)[0] == 0  # it was said once
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
        (["search", "fake.toml", "--workers", "-1"], "--workers must be a number, ray, or ray:NUMBER, got '-1'"),
        (["search", "fake.toml", "--workers", "ray:some"], "--workers must be a number, ray, or ray:NUMBER"),
        (["search", "fake.toml", "--address", "auto"], "--address and --insecure are for a cluster: add --workers ray"),
        (["search", "wrong.toml"], "unknown key 'tournament'. Did you mean 'tournament_share'"),
        (["search", "zero.toml"], "tournament_share must lie above 0 and not above 1, got 0.0"),
        (["search", "fake.toml", "--name", "done"], "there is a run 'done' in runs already"),
        (["resume", "nothing"], "there is no run 'nothing' in runs. Known runs: done"),
        (["resume", "done", "zero.toml"], "tournament_share"),
        (["resume", "done", "other.toml"], "other.toml is not the recipe of run 'done'"),
        (["status", "nothing"], "there is no run"),
        (["top", "nothing"], "there is no run"),
        (["show", "done", "999"], "the run has no candidate 999"),
        (["export", "evonorm-s0", "layer.py", "--class", "1x"], "Python identifier"),
        (["export", "done", "0", "layer.py"], "bn-relu is a reference"),
        (["journal", "digest", "nothing"], "there is no run"),
        (["journal", "import", "fake.toml"], "is not a file of"),
        (["journal", "import", "missing.evonorm"], "missing.evonorm: No such file or directory. Check the name"),
        (["journal", "check", "nothing"], "there is no run"),
        (["journal", "repair", "nothing"], "there is no run"),
        (["retry", "done", "0"], "candidate 0 did not fail (scored"),
        (["retry", "done", "999"], "the run has no candidate 999"),
        (["search", "fake.toml", "--name", ""], "a run's name is made of"),
        (["search", "deep.toml"], "its brackets are nested too deeply"),
        (["search", "rung.toml"], "ladder[0]: the key 'steps' is missing. Valid keys: anchors, steps"),
        (["top", "done", "-n", "0"], "Invalid value for '-n'"),
        (["top", "done", "-n", "-3"], "Invalid value for '-n'"),
        (["calibrate", "--target-steps", "-4"], "Invalid value for '--target-steps'"),
        (["cost", "resnet50", "--image-size", "-4"], "Invalid value for '--image-size'"),
        (["bench", "--shape", "99999999,9999999,99999,99"], "GB; this is for up to 4"),
        (["dashboard", "--runs", "nowhere"], "there is no folder nowhere"),
        (["export", "evonorm-s0", "fake.toml"], "fake.toml exists already. Choose another name, or --force"),
        (
            ["export", "evonorm-s0", "no/where.py"],
            "no/where.py: No such file or directory. Check the name, or make the",
        ),
        (["draw", "x + " * 60_000 + "x", "out.svg"], "a formula has at most 100,000 characters, got 240,001"),
        (["status", "done\x1b[2J"], r"does not begin with '.' or '-', got 'done\x1b[2J'"),
    ],
)
def test_a_mistake_is_one_message_and_changes_nothing(evonorm, place, arguments, message):
    (place / "wrong.toml").write_text(RECIPE.replace("window = 20", "tournament = 3"))
    (place / "zero.toml").write_text(RECIPE.replace("window = 20", "tournament_share = 0.0"))
    (place / "other.toml").write_text(RECIPE.replace("seed = 5", "seed = 6"))
    (place / "deep.toml").write_text("a = " + "[" * 5000)
    (place / "rung.toml").write_text('[[fitness.ladder]]\nanchors = ["resnet-nano"]\n')
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


def damage(place):
    path = place / "runs/first/journal.sqlite"
    path.write_bytes(path.read_bytes().replace(b'"steps":1', b'"steps":2', 1))
    return path


def test_a_damaged_journal_is_named_by_every_command_and_mended_by_one(evonorm, place):
    evonorm("search", "fake.toml", "--name", "first", "--candidates", 20)
    calm = evonorm("journal", "digest", "first")[1]
    code, text = evonorm("journal", "check", "first")
    assert (code, "whole, " in text, "outcomes" in text) == (0, True, True)
    assert "nothing to repair" in evonorm("journal", "repair", "first")[1]
    damage(place)
    for command in (
        ("status", "first"),
        ("top", "first"),
        ("show", "first", 3),
        ("export", "first", 3, "layer.py"),
        ("journal", "digest", "first"),
        ("journal", "export", "first", "copy.evonorm"),
        ("resume", "first", "--candidates", 21),
        ("report", "first"),
        ("retry", "first", 3),
    ):
        code, text = evonorm(*command)
        assert code == 2, command
        assert "is damaged (outcomes, row" in " ".join(text.split()) or "did not fail" in text, command
    code, text = evonorm("journal", "check", "first")
    assert (code, "evonorm journal repair" in text) == (1, True)
    code, text = evonorm("journal", "repair", "first")
    assert (code, "The damaged file is" in " ".join(text.split())) == (0, True)
    assert evonorm("resume", "first", "--candidates", 20)[0] == 0
    assert evonorm("journal", "digest", "first")[1] == calm


def test_an_import_that_fails_leaves_no_folder(evonorm, place):
    (place / "bad.evonorm").write_bytes(b"evonorm journal export 1\nabc\nnonsense")
    assert evonorm("journal", "import", "bad.evonorm", "--name", "new")[0] == 2
    assert not (place / "runs" / "new").exists()


def test_a_foreign_journal_runs_nothing_until_somebody_says_so(evonorm, place, monkeypatch):
    (place / "their_code.py").write_text(
        "from pathlib import Path\nPath('ran').touch()\nfrom tests.runner.fake_fitness import by_hash as judge\n"
    )
    monkeypatch.syspath_prepend(place)
    (place / "theirs.toml").write_text(RECIPE.replace("tests.runner.fake_fitness:by_hash", "their_code:judge"))
    evonorm("search", "theirs.toml", "--name", "theirs", "--candidates", 4)
    evonorm("journal", "export", "theirs", "theirs.evonorm")
    evonorm("journal", "import", "theirs.evonorm", "--name", "ours")
    (place / "ran").unlink()
    del sys.modules["their_code"]
    for command in (("resume", "ours", "--candidates", 8), ("retry", "ours", 2)):
        assert evonorm(*command)[0] == 2
        assert not (place / "ran").exists()
    text = " ".join(evonorm("resume", "ours", "--candidates", 8)[1].split())
    assert "the function their_code:judge, which is not evonorm's" in text
    assert "evonorm resume ours --trust" in text
    (place / "runs/ours/recipe.toml").write_text((place / "theirs.toml").read_text())
    text = " ".join(evonorm("search", place / "runs/ours/recipe.toml", "--name", "new", "--candidates", 2)[1].split())
    assert "came with a journal" in text
    assert not (place / "ran").exists()
    assert evonorm("resume", "ours", "--candidates", 8, "--trust")[0] == 0
    assert (place / "ran").exists()
    assert evonorm("resume", "ours", "--candidates", 9)[0] == 0
    assert evonorm("resume", "theirs", "--candidates", 9)[0] == 0  # begun here, by its owner


def test_control_characters_of_a_foreign_journal_never_reach_terminal_or_report(evonorm, place):
    nasty = "\x1b]0;PWNED\x07\x1b[2J\x9b31m\r"
    folder = RunFolder(place / "runs", "evil")
    folder.path.mkdir(parents=True)
    with Journal.create(folder.journal, header_with(nasty)) as journal, journal.transaction():
        stages = (Stage(nasty, nasty, 3, 1.0, {nasty: nasty}),)
        journal.add_proposal(Proposal(0, Graph.parse("x"), nasty, 0, name=nasty))
        journal.add_outcome(0, Scores({nasty: 0.5}, stages))
        journal.add_proposal(Proposal(1, Graph.parse("x + x"), "random", 0))
        journal.add_outcome(1, Rejected(nasty, nasty, {nasty: nasty}, stages))
        journal.add_proposal(Proposal(2, Graph.parse("x + x"), "random", 0))
        journal.add_outcome(2, Failed("error", nasty, stages))
        journal.add_event("not reproducible", {"why": nasty})
    commands = [("status", "evil"), ("top", "evil"), *(("show", "evil", index) for index in range(3))]
    for command in (*commands, ("report", "evil"), ("journal", "check", "evil"), ("resume", "evil")):
        text = evonorm(*command)[1]
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), command
        assert "Traceback" not in text
    assert "PWNED" in evonorm("status", "evil")[1]
    report = (folder.path / "report/report.html").read_text()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", report)
    assert "PWNED" in report


def header_with(text):
    search = {"method": text, "window": 3}
    head = {"name": "evil", "seed": text, "commit": text, "created": text, "identity": {}, "data": {"name": text}}
    recipe = {"search": search, "fitness": {"anchors": [text]}, "evaluate": text}
    return {**head, "recipe": recipe, "machine": {"processor": text}, "versions": {text: text}}


def test_closing_the_terminal_ends_as_ctrl_c_does(place):
    slow = RECIPE.replace('"inline"', '"processes"') + "number = 2\n[fitness]\nseconds = 1.0\n"
    (place / "fake.toml").write_text(slow)
    process = start(place, "search", "fake.toml", "--name", "hup")
    wait_for_evaluations(place, 4)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 0
    with RunFolder(place / "runs", "hup").reader() as reader:
        (_, ended) = reader.events("session ended")[-1]
        assert ended["why"] == "stopped"
        assert ended["unfinished"] in (1, 2)
        assert ended["seconds"] > 0


def test_failed_candidates_are_tried_again_and_the_run_says_what_is_not_reproducible(evonorm, place):
    faulty = RECIPE.replace("by_hash", "crashes_while").replace('"inline"', '"processes"') + "number = 1\npin = false\n"
    (place / "fake.toml").write_text(faulty)
    (place / "flag").touch()
    os.environ["FAKE_FITNESS_FLAG"] = str(place / "flag")
    try:
        assert evonorm("search", "fake.toml", "--name", "outside", "--candidates", 6)[0] == 0
        folder = RunFolder(place / "runs", "outside")
        with folder.reader() as reader:
            failed = [c.proposal.index for c in reader.candidates() if isinstance(c.outcome, Failed)]
            proposed = reader.proposed()
        assert failed
        text = evonorm("status", "outside")[1]
        assert f"not reproducible: candidate {failed[0]} failed (crash)" in text
        (place / "flag").unlink()
        code, text = evonorm("retry", "outside", *failed)
    finally:
        del os.environ["FAKE_FITNESS_FLAG"]
    assert code == 0
    assert f"candidate {failed[0]}, again as {proposed}: " in text
    with folder.reader() as reader:
        again = [reader.candidate(proposed + place) for place in range(len(failed))]
        assert [each.proposal.parents for each in again] == [(index,) for index in failed]
        assert [each.proposal.seed for each in again] == [reader.candidate(index).proposal.seed for index in failed]
        assert not any(isinstance(each.outcome, Failed) for each in again)
        assert reader.proposed() == proposed + len(failed)
    assert "was tried again as" in evonorm("status", "outside")[1]
    evonorm("report", "outside")
    assert "no: candidate" in (place / "runs/outside/report/report.html").read_text()
    assert evonorm("resume", "outside", "--candidates", 12)[0] == 0
    assert "whole" in evonorm("journal", "check", "outside")[1]


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
