import socket
import sys
import xml.etree.ElementTree as ET

import pytest

from evonorm.cli import main
from tests.report.kept_training import answer, keep, question
from tests.report.synthetic_run import write_run


@pytest.fixture
def run(monkeypatch, capsys):
    """The command line in this process: what it returns and what it wrote to stderr, in one line."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["evonorm", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), " ".join(capsys.readouterr().err.split())

    return call


def test_draw_writes_the_graph(run, tmp_path):
    assert run("draw", "evonorm-b0", tmp_path / "out.svg") == (0, "")
    assert "std" in "".join(ET.parse(tmp_path / "out.svg").getroot().itertext())


def test_draw_knows_formulas_responses_and_pages(run, tmp_path):
    assert run("draw", "x * sigmoid(x)", tmp_path / "r.svg", "--response") == (0, "")
    assert "output before the affine" in (tmp_path / "r.svg").read_text()
    assert run("draw", "evonorm-s0", tmp_path / "s0.html") == (0, "")
    assert "<math" in (tmp_path / "s0.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("draw", "evonorm-b9", "o.svg"), "Did you mean evonorm-b"),
        (("draw", "evonorm-b0", "o.html", "--response"), "shows both"),
        (("dashboard", "--host", "nowhere.invalid"), "address of this machine"),
        (("draw", "evonorm-b0", "o.bmp"), ".svg, .png or .html"),
        (("draw", "evonorm-b0", "/nowhere/at/all/o.svg"), "nowhere"),
        (("report", "nope"), "Known runs: none yet"),
        (("report", "../nope"), "no run"),
        (("dashboard", "nope"), "no run"),
    ],
)
def test_mistakes_end_in_one_message(run, tmp_path, monkeypatch, arguments, words):
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    code, message = run(*arguments)
    assert code == 2
    assert words in message


def test_report_of_a_run(run, tmp_path):
    write_run(tmp_path, "night", 30)
    assert run("report", "night", "--runs", tmp_path) == (0, "")
    assert (tmp_path / "night" / "report" / "report.html").exists()


def test_report_of_trainings(run, tmp_path):
    keep(tmp_path / "train", (question("evonorm-b0"), answer()))
    assert run("report", tmp_path / "train", "--out", tmp_path / "out") == (0, "")
    assert "Trainings in train" in (tmp_path / "out" / "report.html").read_text()
    code, message = run("report", tmp_path / "train", "--against", "night")
    assert code == 2
    assert "--against compares searches" in message


def test_a_search_goes_before_trainings_in_its_folder(run, tmp_path):
    write_run(tmp_path, "night", 5)
    keep(tmp_path / "night", (question("evonorm-b0"), answer()))
    assert run("report", "night", "--runs", tmp_path) == (0, "")
    assert "Run night" in (tmp_path / "night" / "report" / "report.html").read_text()


def test_dashboard_on_a_taken_port(run, tmp_path):
    write_run(tmp_path, "night", 5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, message = run("dashboard", "night", "--runs", tmp_path, "--port", taken.getsockname()[1])
    assert code == 2
    assert "--port" in message
