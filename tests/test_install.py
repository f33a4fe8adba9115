"""`pip install .` without a network and without a compiler: eager layers that say why. With one: `test_wheel.py`."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

# Not find_spec("pip"): setuptools takes that for pip at work and cannot be imported any more, which torch.compile does.
INSTALLED = {each.name.lower() for each in distributions()}
pytestmark = pytest.mark.skipif(not {"pip", "setuptools"} <= INSTALLED, reason="pip and setuptools build the package")

ROOT = Path(__file__).parent.parent
SOURCES = ("evonorm", "native", "setup.py", "pyproject.toml", "README.md", "LICENSE")
RUN_TWO_LAYERS = """
import warnings
import torch
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import evonorm
    for name in ("evonorm-s0", "evonorm-b0"):
        for _ in range(2):
            y = evonorm.create_layer(name, 8)(torch.randn(2, 8, 4, 4, requires_grad=True))
            y.sum().backward()
print(evonorm.__file__)
print(type(y.grad_fn).__name__)
for each in caught:
    print(f"warning: {each.message}")
"""


def install(tmp_path, **environment):
    """The folder that pip installed a copy of the sources into; built nowhere else, so that no old library is found."""
    source, target = tmp_path / "source", tmp_path / "installed"
    source.mkdir()
    ignore = shutil.ignore_patterns("*.so", "__pycache__")
    for name in SOURCES:
        place = ROOT / name
        shutil.copytree(place, source / name, ignore=ignore) if place.is_dir() else shutil.copy(place, source / name)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    what = f"evonorm[all] @ {source.as_uri()}"
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), what]
    subprocess.run(command, cwd=source, env=os.environ | environment, check=True, capture_output=True)
    return target


def run_two_layers(installed, cwd):
    environment = {key: value for key, value in os.environ.items() if key != "EVONORM_KERNEL"}
    done = subprocess.run(
        [sys.executable, "-c", RUN_TWO_LAYERS],
        cwd=cwd,
        env=environment | {"PYTHONPATH": str(installed)},
        check=True,
        capture_output=True,
        text=True,
    )
    file, node, *warned = done.stdout.splitlines()
    assert Path(file).is_relative_to(installed), "another evonorm was imported"
    return node, warned


def test_an_install_without_a_compiler_runs_in_eager_mode_and_says_why_once(tmp_path):
    installed = install(tmp_path, CC="/bin/false", CXX="/bin/false")
    assert not list(installed.rglob("*.so"))
    node, warned = run_two_layers(installed, tmp_path)
    assert node != "FusedLayerBackward"
    assert len(warned) == 1, warned
    assert "native kernel is not used: this installation has none" in warned[0]
    assert "no C++17 compiler when it was installed" in warned[0]
    assert {path.name for path in (installed / "evonorm/recipes").iterdir()} == {
        path.name for path in (ROOT / "recipes").iterdir()
    }
