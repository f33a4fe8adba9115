"""A register: things of one kind by name, ours and those that programs and plug-ins add."""

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from evonorm.foundation.names import unknown_name
from evonorm.foundation.plugins import OURSELVES, load_plugins, note_registration

T = TypeVar("T")


class Register(Mapping[str, T], Generic[T]):
    """Entries by name in the order in which they came; entries are values.

    It reads as a mapping. Asked for a name that it does not have, or for all of them, it first sees to it that
    plug-ins are loaded. `changes` counts additions and removals, for whoever keeps something made from the entries.
    """

    def __init__(self, what: str, ours: Mapping[str, T] | None = None) -> None:
        self.what = what  # of an entry, as errors call it: "model"
        self.changes = 0
        self._entries = dict(ours or {})
        self._added_by = dict.fromkeys(self._entries, OURSELVES)

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            load_plugins()
        return self._entries[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Quicker than a mapping's own: every node of every graph is looked up."""
        try:
            return self._entries[name]
        except KeyError:
            load_plugins()
            return self._entries.get(name, default)

    def __contains__(self, name: object) -> bool:
        if name not in self._entries:
            load_plugins()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        load_plugins()
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        load_plugins()
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Register({self.what!r}: {', '.join(self._entries)})"

    def names(self) -> tuple[str, ...]:
        return tuple(self)

    def find(self, name: str) -> T:
        """The entry of a name that a person gave; for an unknown one the error says which was meant."""
        if name not in self:
            raise unknown_name(self.what, name, self.names())
        return self[name]

    def added_by(self, name: str) -> str:
        """The package of a plug-in, `evonorm` for what comes with it, or `this program`."""
        self.find(name)
        return self._added_by[name]

    def add(self, name: str, entry: T) -> T:
        """Registers an entry. The very same one may come again; another under a taken name is an error."""
        if name in self._entries:
            if self._entries[name] != entry:
                raise ValueError(
                    f"there is another {self.what} {name!r} already, added by {self._added_by[name]}."
                    " Register yours under another name."
                )
            return self._entries[name]
        self._entries[name] = entry
        self.changes += 1
        self._added_by[name] = note_registration(f"{self.what} {name}", lambda: self.remove(name))
        return entry

    def include(self, name: str, entry: T) -> T:
        """Adds one of evonorm's own from a room above the register's, whoever has that room imported."""
        self._entries[name], self._added_by[name] = entry, OURSELVES
        self.changes += 1
        return entry

    def remove(self, name: str) -> None:
        """Takes an entry back, for broken plug-ins and tests: what was made with it stays as it is."""
        del self._entries[name], self._added_by[name]
        self.changes += 1
