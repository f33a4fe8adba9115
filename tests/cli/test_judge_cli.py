"""`evonorm judge` from the plan to a second call that trains nothing."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from evonorm.cli.root import app
from evonorm.journal import RunFolder, import_journal

pytest.importorskip("sklearn")
SMALL = (
    *("--set", "fitness.data=digits", "--set", "fitness.training.steps=2", "--set", "fitness.validation_images=64"),
    *("--set", 'fitness.anchors=["resnet-nano"]', "--top", "2", "--seeds", "2", "--workers", "0"),
)


def judge(runs, *options):
    return CliRunner().invoke(app, ["judge", "b", "--runs", str(runs), *options], catch_exceptions=False).output


@pytest.fixture
def runs(tmp_path):
    folder = RunFolder(tmp_path, "b")
    folder.path.mkdir()
    import_journal(Path("studies/search/b-evolution.evonorm"), folder.journal)
    return tmp_path


def test_it_judges_families_and_references_and_goes_on(runs):
    first = judge(runs, *SMALL)
    lines = (runs / "b/judge/outcomes.jsonl").read_text().splitlines()
    assert len(lines) == 2 * 4  # two families and two references, two seeds
    assert "seeds 1000 to 1001" in first
    assert "less bn-relu" in first
    assert "less evonorm-b0" in first
    assert first.count("reference") >= 2
    table = first.split("layer\n", 1)[1]
    assert judge(runs, *SMALL).split("layer\n", 1)[1] == table  # found again, figure by figure
    assert (runs / "b/judge/outcomes.jsonl").read_text().splitlines() == lines
    judge(runs, *SMALL, "--seeds", "3")
    assert len((runs / "b/judge/outcomes.jsonl").read_text().splitlines()) == 3 * 4


def test_a_plan_trains_nothing(runs):
    text = judge(runs, "--plan")
    assert "shows a difference of" in text
    assert not (runs / "b/judge").exists()


def test_a_run_without_scores_is_refused(runs):
    with pytest.raises(ValueError, match="no run"):
        judge(runs / "elsewhere", "--plan")
