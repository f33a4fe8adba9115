"""Plug-ins: packages of other people that register things of their own through entry points in `evonorm.plugins`.

An entry point names a function, which is called, or a module, which is imported. They are loaded once, when a register
is first asked for a name that it does not have or for all of its names; worker processes do the same. A plug-in that
raises is named in one warning and skipped, and what it had registered until then is taken back.
"""

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "evonorm.plugins"
OURSELVES, THIS_PROGRAM = "evonorm", "this program"


@dataclass(frozen=True)
class Plugin:
    """One entry point: whose it is, what it registered, such as `layer swish-norm`, and why it is broken, if it is."""

    name: str
    package: str
    version: str
    registered: tuple[str, ...] = ()
    problem: str | None = None


@dataclass
class _Loading:
    """The plug-in that is being loaded, what it has registered so far and how to take that back."""

    package: str
    registered: list[str] = field(default_factory=list)
    undo: list[Callable[[], object]] = field(default_factory=list)


class _Plugins:
    """What this process has loaded."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.started = False
        self.found: list[Plugin] = []
        self.all: tuple[Plugin, ...] | None = None  # once they are loaded
        self.loading: _Loading | None = None

    def load(self) -> tuple[Plugin, ...]:
        if self.all is not None:  # the usual case, without a lock: every random node asks
            return self.all
        with self.lock:
            if not self.started:
                self.started = True  # before the first of them: it asks registers, too
                from importlib.metadata import entry_points  # a tenth of the time that `import evonorm` takes

                for entry in entry_points(group=GROUP):
                    self.found.append(self.loaded(entry))
                for each in self.found:
                    _warn_of(each)
                self.all = tuple(self.found)
            return tuple(self.found)

    def loaded(self, entry: "EntryPoint") -> Plugin:
        package, version = (entry.dist.name, entry.dist.version) if entry.dist else ("unknown", "")
        self.loading = loading = _Loading(package)
        try:
            offered = entry.load()
            if callable(offered):
                offered()
        except Exception as error:  # whatever a stranger's code may raise
            for undo in reversed(loading.undo):
                undo()
            return Plugin(entry.name, package, version, problem=f"{type(error).__name__}: {error}")
        finally:
            self.loading = None
        return Plugin(entry.name, package, version, tuple(loading.registered))


_plugins = _Plugins()


def load_plugins() -> tuple[Plugin, ...]:
    """Every plug-in that is installed, loaded now if none was before."""
    return _plugins.load()


def note_registration(what: str, undo: Callable[[], object]) -> str:
    """Remembers that something was registered, and returns by whom."""
    if _plugins.loading is None:
        return THIS_PROGRAM
    _plugins.loading.registered.append(what)
    _plugins.loading.undo.append(undo)
    return _plugins.loading.package


def _warn_of(plugin: Plugin) -> None:
    if plugin.problem is not None:
        warnings.warn(
            f"the plug-in {plugin.name!r} of the package {plugin.package} {plugin.version} is broken and skipped:"
            f" {plugin.problem}",
            RuntimeWarning,
            stacklevel=2,
        )
