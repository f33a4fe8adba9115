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

    Raises ValueError for a name that is taken or cannot be typed, TypeError where `load` cannot be called.

    Example:
        def load_noise():
            pixels = torch.randint(256, (300, 32, 32, 3), dtype=torch.uint8)
            labels = torch.randint(10, (300,), dtype=torch.uint8)
            parts = [evonorm.data.Images(pixels, labels, rows) for rows in torch.arange(300).split(100)]
            return evonorm.data.DataSet("noise", *parts, mean=(0.5, 0.5, 0.5), std=(0.3, 0.3, 0.3))

        evonorm.register_data("noise", load_noise)
    """
    check_plain_name(name, "data set")
    if not callable(load):
        raise TypeError(f"load of the data set {name} must be a function that returns it, got {type(load).__name__}.")
    DATA_SETS.add(name, load)
