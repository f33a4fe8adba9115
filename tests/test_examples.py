"""Every example runs as its first lines say, and shows what it promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(path, cwd=ROOT):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_says_how_to_run_it_and_is_listed(path):
    assert f"python examples/{path.name}" in path.read_text().split('"""')[1]
    assert f"`{path.name}`" in (ROOT / "examples" / "README.md").read_text()


@pytest.mark.slow
def test_a_layer_of_ones_own_learns():
    right = [float(share) for share in re.findall(r": ([\d.]+) % right", run(ROOT / "examples" / "own_layer.py"))]
    assert len(right) == 2
    assert min(right) > 60, "chance is 25"


@pytest.mark.slow
def test_a_converted_model_trains():
    pytest.importorskip("torchvision", reason="torchvision is in the dev extra")
    text = run(ROOT / "examples" / "convert_a_model.py")
    assert "20 normalizations: 9 x layer, 11 x layer without activation" in text
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", text)]
    assert losses[-1] < losses[0] / 2


@pytest.mark.slow
def test_a_calibrated_net_keeps_what_it_had_learned():
    pytest.importorskip("sklearn", reason="scikit-learn is in the dev extra")
    text = run(ROOT / "examples" / "keep_what_was_learned.py")
    old, naive, calibrated, taught = (float(share) for share in re.findall(r": ([\d.]+) % right", text))
    assert old > 90
    assert naive < old - 15
    assert min(calibrated, taught) > old - 5


@pytest.mark.slow
def test_a_search_of_ones_own_finds_something_and_goes_on(tmp_path):
    first = run(ROOT / "examples" / "own_search.py", tmp_path)
    right = [float(share) for share in re.findall(r"([\d.]+) % right", first)]
    assert len(right) == 3
    assert right[0] > 35, "chance is 25"
    assert run(ROOT / "examples" / "own_search.py", tmp_path) == first
