"""What a cluster must offer so that hosts can be had on its nodes and spoken to. Whatever carries text will do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class HostGoneError(Exception):
    """The host is gone for good, with everything that it had."""


class LineDownError(Exception):
    """The call may or may not have reached the host; it may be repeated."""


Answered = Callable[[str | HostGoneError | LineDownError], None]


@dataclass(frozen=True)
class Node:
    """A machine of the cluster."""

    id: str
    name: str
    cores: int


class Line(Protocol):
    """To one host. It never repeats a call by itself."""

    def call(self, text: str, answered: Answered) -> None:
        """Returns at once; `answered` is called later, from any thread, once at most."""
        ...

    def cut(self) -> None:
        """Ends the host, also one that does not answer."""
        ...


class Cluster(Protocol):
    """Nodes that may come and go at any time."""

    def nodes(self) -> list[Node]:
        """Those that are there now. May take seconds; asked from a thread of its own."""
        ...

    def open(self, node: Node, workers: int) -> Line:
        """A new host with so many workers. Returns at once; it may take its time to answer."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Greeting:
    """The first task of every host: what it says of its machine decides whether it may work for us."""

    function: str
    arguments: dict[str, Any]
    refuse: Callable[[dict[str, Any]], str | None]  # why not
