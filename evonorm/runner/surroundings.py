"""Where a result comes from: versions, commit and machine, for the journal's header and for kept results."""

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import evonorm
from evonorm.foundation import load_plugins
from evonorm.journal import KeptResults, Listener


def surroundings() -> dict[str, Any]:
    return {"versions": versions(), "commit": commit(), "machine": machine()}


def kept_results(place: Path, listener: Listener = lambda *_: None) -> KeptResults:
    """The results in a file or folder; what is added says that it comes from here and now."""
    return KeptResults(place, surroundings(), listener)


def versions() -> dict[str, str]:
    """Of what decides figures; also of plug-ins, which may add to what is searched."""
    found = {"python": platform.python_version(), "evonorm": evonorm.__version__}
    found |= {name: importlib.metadata.version(name) for name in ("torch", "numpy")}
    return found | {each.package: each.version for each in load_plugins() if each.problem is None}


def commit() -> str | None:
    """The commit of the code that runs, with a + if files were changed since; None outside of its repository."""
    folder = Path(evonorm.__file__).parent
    if not _git(folder, "ls-files", "__init__.py"):  # e.g. installed into an environment inside another project
        return None
    head = _git(folder, "rev-parse", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return f"{head}+" if head and changed else head


def machine() -> dict[str, Any]:
    return {"host": platform.node(), "processor": processor(), "cores": os.cpu_count(), "system": platform.platform()}


def processor() -> str:
    table = Path("/proc/cpuinfo")
    if table.exists():
        for line in table.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _git(folder: Path, *command: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 (fixed words only)
            ["git", "-C", str(folder), *command],  # noqa: S607 (whatever git the user has)
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
