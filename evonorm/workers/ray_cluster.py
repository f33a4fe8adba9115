"""A Ray cluster: on every node one actor, which is a host. The only file that imports ray.

It connects to an address that somebody named and never makes a cluster by itself. Who reaches a Ray cluster can run
code in it, so one that listens beyond this machine must ask for a token.
"""

import ipaddress
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from evonorm.foundation import needs
from evonorm.workers.child import load_function
from evonorm.workers.cluster import Answered, HostGoneError, LineDownError, Node
from evonorm.workers.host import Host, WakeableWorkers
from evonorm.workers.processes import ProcessWorkers

with needs("ray", "searching on a cluster"):
    import ray
    from ray.exceptions import ActorUnavailableError, RayError

KNOCKING_SECONDS = 10.0
CALLS_AT_ONCE = 3  # one that waits, one that hands over, and one to spare


@dataclass(frozen=True)
class HostSettings:
    """What a host is to be; `made_by` names the function that makes its workers of these settings, as a dict."""

    workers: int = 1
    threads: int = 1
    pin: bool = True
    memory_gb: float | None = None
    made_by: str = "evonorm.workers.ray_cluster:processes_of_host"


def processes_of_host(settings: dict[str, Any]) -> WakeableWorkers:
    """Worker processes; what their libraries print goes to Ray's logs of the node."""
    return ProcessWorkers(
        settings["workers"], settings["threads"], settings["pin"], settings["memory_gb"], Path("/dev/stderr")
    )


class HostActor:
    """A host inside a Ray actor."""

    def __init__(self, settings: dict[str, Any]) -> None:
        make: Callable[[dict[str, Any]], WakeableWorkers] = load_function(settings["made_by"])
        self._host = Host(partial(make, settings))

    def exchange(self, text: str) -> str:
        return self._host.exchange(text)


class RayLine:
    """To one host actor."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def call(self, text: str, answered: Answered) -> None:
        try:
            self._actor.exchange.remote(text).future().add_done_callback(partial(_pass_on, answered))
        except RayError as error:
            answered(_as_ours(error))

    def cut(self) -> None:
        ray.kill(self._actor)


class RayCluster:
    """A connection to the cluster at `address`, which is "auto" for one that runs on this machine."""

    def __init__(self, address: str, settings: HostSettings, insecure: bool = False) -> None:
        self._settings = settings
        if address != "auto" and not insecure:
            refuse_open_network(address)
        try:
            _knock(address)
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
        except (OSError, ValueError, RuntimeError, RayError) as error:
            raise ValueError(_why_not_connected(address, error)) from None
        try:
            if not insecure:
                refuse_open_network(ray.get_runtime_context().gcs_address)
        except ValueError:
            ray.shutdown()
            raise

    def nodes(self) -> list[Node]:
        alive = [each for each in ray.nodes() if each["Alive"]]
        found = [
            Node(each["NodeID"], each["NodeManagerHostname"], int(each["Resources"].get("CPU", 0))) for each in alive
        ]
        names = [node.name for node in found]
        return [
            node if names.count(node.name) == 1 else Node(node.id, f"{node.name} {node.id[:6]}", node.cores)
            for node in found
        ]

    def open(self, node: Node, workers: int) -> RayLine:
        """Ray never starts the actor again by itself, nor repeats a call: who was in flight is ours to know."""
        options = {
            "max_restarts": 0,
            "max_task_retries": 0,
            "max_concurrency": CALLS_AT_ONCE,
            **self._place(node, workers),
        }
        settings = asdict(replace(self._settings, workers=workers))
        return RayLine(ray.remote(HostActor).options(**options).remote(settings))

    def _place(self, node: Node, workers: int) -> dict[str, Any]:
        """The whole node, so that nobody else is put there."""
        return {"num_cpus": workers * self._settings.threads, "label_selector": {"ray.io/node-id": node.id}}

    def close(self) -> None:
        ray.shutdown()


def refuse_open_network(address: str) -> None:
    """Raises where a cluster can be reached from other machines and asks nobody for a token."""
    if not _is_loopback(address) and os.environ.get("RAY_AUTH_MODE") != "token":
        raise ValueError(
            f"the cluster at {address} listens beyond this machine, and RAY_AUTH_MODE is not 'token': whoever reaches"
            " it can run code on it. Start it with a token (docs/cluster.md), or allow it with --insecure on a network"
            " that is yours alone."
        )


def _knock(address: str) -> None:
    """Raises OSError where nobody is at home; Ray itself tries for many minutes."""
    if address != "auto":
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise ValueError("an address is HOST:PORT")
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCKING_SECONDS).close()


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]") or address
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _why_not_connected(address: str, error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    where = "on this machine" if address == "auto" else f"at {address}"
    return f"there is no Ray cluster {where} to connect to ({first}). Start one as docs/cluster.md says, or --address."


def _pass_on(answered: Answered, future: Any) -> None:
    try:
        answered(future.result())
    except Exception as error:
        answered(_as_ours(error))


def _as_ours(error: Exception) -> HostGoneError | LineDownError:
    """Only one of Ray's errors leaves it open whether the call was made; any other is the end of the actor."""
    words = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return LineDownError(words) if isinstance(error, ActorUnavailableError) else HostGoneError(words)
