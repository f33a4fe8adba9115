"""Whether another machine may work for us: the same code, the same libraries, the same data.

Asked of every host of a cluster before its first task, in one of its own workers. A node that has no CIFAR-10 gets it
by itself, once.
"""

import hashlib
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from evonorm.data import cifar10_path, get_cifar10, load_data
from evonorm.runner.surroundings import commit, machine, versions
from evonorm.workers import Announced, Greeting

NODE_TASK = "evonorm.runner.handshake:describe_node"


def greet(here: dict[str, Any], data: str | None, same_processor: bool = False) -> Greeting:
    """What hosts are asked by a driver whose `surroundings` are these; `data` is what the work needs.

    In strict order figures must be equal to the last bit, so the processors must be of one kind.
    """
    expected = {"versions": here["versions"], "commit": here["commit"]}
    if same_processor:
        expected["processor"] = here["machine"].get("processor")
    return Greeting(NODE_TASK, {"data": data}, partial(why_refused, expected, data))


def describe_node(arguments: dict[str, Any], announce: Callable[[Announced], None]) -> dict[str, Any]:
    """What a worker says of its machine: versions, commit, processor, and a checksum of the data."""
    if (data := arguments["data"]) == "cifar10" and not cifar10_path().exists():
        announce({"name": "getting CIFAR-10"})
        get_cifar10()
    checksum = data_checksum(data) if data else None
    here = machine()
    return {
        "versions": versions(),
        "commit": commit(),
        "processor": here["processor"],
        "machine": here["host"],
        "data": checksum,
    }


def why_refused(expected: dict[str, Any], data: str | None, told: dict[str, Any]) -> str | None:
    """The first thing in which the node differs from what the driver expects."""
    for name, version in expected["versions"].items():
        if (there := told["versions"].get(name)) != version:
            return f"it has {name} {there or 'not at all'}, the driver has {version}. Install the same there."
    if told["commit"] != expected["commit"]:
        return f"it has commit {told['commit']}, the driver has {expected['commit']}. Check out the same there."
    if told["processor"] != expected.get("processor", told["processor"]):
        return (
            f"its processor is {told['processor']}, the driver's {expected['processor']}: figures may differ in their"
            ' last bits, which strict order does not allow. Search with order = "arrival", or on machines of one kind.'
        )
    if data and told["data"] != (here := data_checksum(data)):
        return f"its data set {data} has the checksum {str(told['data'])[:12]}, the driver's {here[:12]}."
    return None


@cache
def data_checksum(name: str) -> str:
    """Of every picture with its label, and of which are trained on."""
    found = load_data(name)
    digest = hashlib.sha256(found.name.encode())
    for tensor in (found.training.pixels, found.training.labels, found.training.rows, found.validation.rows):
        digest.update(tensor.contiguous().numpy().data)
    return digest.hexdigest()
