"""Data sets by name."""

from functools import lru_cache

from evonorm.data.cifar10 import load_cifar10
from evonorm.data.digits import load_digits
from evonorm.data.images import DataSet
from evonorm.foundation import unknown_name

_LOADERS = {"cifar10": load_cifar10, "digits": load_digits}
DATA_NAMES = tuple(_LOADERS)


@lru_cache(maxsize=2)
def load_data(name: str) -> DataSet:
    """The named data set, opened once per process. Never downloads: `evonorm data cifar10` does."""
    if name not in _LOADERS:
        raise unknown_name("data set", name, DATA_NAMES)
    return _LOADERS[name]()
