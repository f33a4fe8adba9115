"""What `evonorm export` writes, and what it refuses to."""

import pytest
import torch
from typer.testing import CliRunner

import evonorm
from evonorm.cli.root import app
from evonorm.journal import Reader, Rejected, Scores
from tests.report.synthetic_run import write_run


def export(*words):
    return CliRunner().invoke(app, ["export", *map(str, words)])


def layer_in(path, name="FoundNormAct"):
    names = {}
    exec(path.read_text(), names)
    return names[name]


@pytest.mark.parametrize("what", ["evonorm-s0", "EvoNorm-B0", "x * sigmoid(x) / rms_whc(x)"])
def test_a_name_or_a_formula(what, tmp_path):
    done = export(what, tmp_path / "layer.py", "--class", "Mine")
    assert done.exit_code == 0, done.output
    x = torch.randn(4, 8, 3, 3)
    torch.testing.assert_close(layer_in(tmp_path / "layer.py", "Mine")(8).plain(x), evonorm.create_layer(what, 8)(x))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bn-relu", "layer.py"], "bn-relu has gamma and beta between normalization and activation"),
        (["evonorm-s9", "layer.py"], "Did you mean evonorm-s"),
        (["layer.py"], "or a layer and a file"),
        (["first", "best", "layer.py"], "a run, a candidate's number and a file"),
    ],
)
def test_what_cannot_be_exported_is_told(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = export(*words)
    assert done.exit_code != 0
    assert message in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_a_rejected_candidate_needs_force(tmp_path):
    journal = write_run(tmp_path, "night", candidates=60)
    with Reader(journal) as reader:
        found = [candidate for candidate in reader.candidates() if not candidate.proposal.name]
    rejected = next(each.proposal.index for each in found if isinstance(each.outcome, Rejected))
    scored = next(each.proposal.index for each in found if isinstance(each.outcome, Scores))
    file, runs = tmp_path / "layer.py", ("--runs", tmp_path)
    refused = export("night", rejected, file, *runs)
    assert f"candidate {rejected} was turned down" in str(refused.exception)
    assert not file.exists()
    assert export("night", rejected, file, "--force", *runs).exit_code == 0
    assert export("night", scored, tmp_path / "good.py", *runs).exit_code == 0
