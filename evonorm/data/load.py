"""Data sets by name."""

from collections.abc import Callable
from functools import lru_cache

from evonorm.data.cifar10 import load_cifar10
from evonorm.data.digits import load_digits
from evonorm.data.images import DataSet
from evonorm.foundation import Register, check_plain_name

DATA_SETS: Register[Callable[[], DataSet]] = Register("data set", {"cifar10": load_cifar10, "digits": load_digits})


@lru_cache(maxsize=2)
def load_data(name: str) -> DataSet:
    """The named data set, opened once per process. Never downloads: `evonorm data cifar10` does."""
    return DATA_SETS.find(name)()


def register_data(name: str, load: Callable[[], DataSet]) -> None:
    """Adds a data set that recipes can then name.

    Arguments:
        name: as a recipe writes it.
        load: opens it; called once per process and only when somebody asks for it.

    Example:
        def load_maps() -> DataSet: ...
        evonorm.register_data("maps", load_maps)
    """
    check_plain_name(name, "data set")
    if not callable(load):
        raise TypeError(f"load of the data set {name} must be a function that returns it, got {type(load).__name__}.")
    DATA_SETS.add(name, load)
