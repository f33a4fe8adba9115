"""A package of somebody else adds primitives, index sets, layers, a model, an anchor, a data set and a task."""

import os
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests import plugin_walk
from tests.registrations import taken_back

TESTS = Path(__file__).parent
INSTALLED = {each.name.lower() for each in distributions()}


@pytest.fixture(scope="module")
def registered():
    """What the package registers, without pip: its function called in this process."""
    sys.path.insert(0, str(TESTS / "plugin_package"))
    try:
        import their_norms

        with taken_back():
            their_norms.register()
            yield
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("step", plugin_walk.STEPS, ids=lambda step: step.__name__)
def test_everything_that_it_registers_works_everywhere(registered, step):
    step()


def install(tmp_path, *packages):
    target = tmp_path / "installed"
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    for name in packages:
        copy = tmp_path / name  # pip leaves its build folder behind
        subprocess.run(["cp", "-r", str(TESTS / name), str(copy)], check=True)
        command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(copy)]
        subprocess.run(command, check=True, capture_output=True)
    return target


def run(installed, *arguments):
    paths = os.pathsep.join((str(installed), str(TESTS.parent)))
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": paths, "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


EVALUATED_BY_A_WORKER = """
from evonorm.runner import evaluate_layers
from tests.plugin_walk import recipe
if __name__ == "__main__":
    (measured,) = evaluate_layers(["softsign-rms"], recipe(), [0], workers=1)
    print(type(measured.outcome).__name__)
"""


@pytest.mark.slow
@pytest.mark.skipif(not {"pip", "setuptools"} <= INSTALLED, reason="pip and setuptools build the package")
def test_the_installed_package_is_found_and_a_broken_one_beside_it_is_skipped(tmp_path):
    installed = install(tmp_path, "plugin_package", "broken_plugin_package")
    walked = run(installed, "-m", "tests.plugin_walk")
    assert walked.stdout == "walked\n"
    assert walked.stderr.count("broken-norms") == walked.stderr.count("is broken and skipped") * 2 == 2
    listed = run(installed, "-m", "evonorm", "plugins").stdout
    for words in (
        "their-norms",
        "1.2.3",
        "primitive softsign",
        "task their-mean",
        "index set bwhc",
        "model their-net",
        "data set their-noise",
    ):
        assert words in listed
    assert "broken, skipped: ValueError: there is another layer" in " ".join(listed.split())
    assert "half-way" not in run(installed, "-m", "evonorm", "layers").stdout
    (tmp_path / "by_a_worker.py").write_text(EVALUATED_BY_A_WORKER)
    assert run(installed, str(tmp_path / "by_a_worker.py")).stdout == "Scores\n"
    versions = run(
        installed, "-W", "ignore", "-c", "from evonorm.runner.surroundings import versions; print(versions())"
    )
    assert "'their-norms': '1.2.3'" in versions.stdout
    assert "broken" not in versions.stdout
