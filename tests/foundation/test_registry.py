import subprocess
import sys
from pathlib import Path

import pytest

from evonorm.foundation import Register, plugins
from evonorm.foundation.plugins import THIS_PROGRAM, _Plugins

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def numbers():
    return Register("number", {"one": 1, "two": 2})


def test_a_register_reads_as_a_mapping_in_the_order_of_addition(numbers):
    numbers.add("three", 3)
    assert dict(numbers) == {"one": 1, "two": 2, "three": 3}
    assert numbers.names() == ("one", "two", "three")
    assert numbers.get("four") is None
    assert "four" not in numbers
    assert len(numbers) == 3


def test_an_unknown_name_says_which_was_meant(numbers):
    with pytest.raises(ValueError, match=r"there is no number 'tow'. Did you mean 'two'\? Known: one, two"):
        numbers.find("tow")
    with pytest.raises(KeyError):
        numbers["tow"]


def test_a_taken_name_is_refused_unless_it_is_the_same_entry(numbers):
    assert numbers.add("two", 2) == 2
    assert numbers.changes == 0
    with pytest.raises(
        ValueError, match=r"another number 'two' already, added by evonorm\. Register yours under another"
    ):
        numbers.add("two", 22)


def test_it_knows_who_added_what_and_counts_changes(numbers):
    numbers.add("three", 3)
    assert (numbers.added_by("one"), numbers.added_by("three")) == ("evonorm", THIS_PROGRAM)
    numbers.remove("three")
    assert "three" not in numbers
    assert numbers.changes == 2


class EntryPoint:
    """What importlib.metadata finds, as far as we look at it."""

    def __init__(self, name, offered):
        self.name, self.offered, self.dist = name, offered, self
        self.version = "1.0"

    def load(self):
        if isinstance(self.offered, Exception):
            raise self.offered
        return self.offered


@pytest.fixture
def installed(monkeypatch):
    """Fresh plug-ins of this process: a list that entry points are put into."""
    found = []
    monkeypatch.setattr(plugins, "_plugins", _Plugins())
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: found if group == "evonorm.plugins" else [])
    return found


@pytest.mark.parametrize("ask", [len, list, lambda register: "theirs" in register, lambda register: register["theirs"]])
def test_plugins_are_loaded_when_somebody_asks_for_what_is_not_there(installed, numbers, ask):
    installed.append(EntryPoint("adds", lambda: numbers.add("theirs", 7)))
    assert numbers["one"] == 1
    assert "two" in numbers
    assert numbers._entries.keys() == {"one", "two"}
    ask(numbers)
    assert numbers["theirs"] == 7
    assert numbers.added_by("theirs") == "adds"
    (plugin,) = plugins.load_plugins()
    assert (plugin.package, plugin.version, plugin.registered) == ("adds", "1.0", ("number theirs",))


def test_a_plugin_may_ask_registers_while_it_is_loaded(installed, numbers):
    installed.append(EntryPoint("asks", lambda: numbers.add("sum", sum(numbers.values()))))
    assert numbers["sum"] == 3


def test_a_broken_plugin_is_named_once_and_takes_nothing_along(installed, numbers):
    def half():
        numbers.add("half", 0.5)
        raise RuntimeError("no more")

    installed += [EntryPoint("half", half), EntryPoint("gone", ImportError("no module named x"))]
    installed.append(EntryPoint("good", lambda: numbers.add("good", 5)))
    with pytest.warns(RuntimeWarning, match="is broken and skipped") as caught:
        assert numbers.names() == ("one", "two", "good")
    numbers.names()
    assert [str(each.message).split("'")[1] for each in caught] == ["half", "gone"]
    problems = [each.problem for each in plugins.load_plugins()]
    assert problems == ["RuntimeError: no more", "ImportError: no module named x", None]


def test_a_module_is_a_plugin_too(installed, numbers):
    installed.append(EntryPoint("module", sys))
    assert plugins.load_plugins()[0].problem is None


def test_no_import_of_a_room_loads_plugins():
    """They import rooms themselves, which would be half there."""
    rooms = sorted(path.parent.name for path in (ROOT / "evonorm").glob("*/__init__.py"))
    code = "".join(f"import evonorm.{room}\n" for room in rooms)
    code += "from evonorm.foundation.plugins import _plugins\nassert not _plugins.started"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
