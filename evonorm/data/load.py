"""Data sets by name."""

import difflib
from functools import lru_cache

from evonorm.data.cifar10 import load_cifar10
from evonorm.data.digits import load_digits
from evonorm.data.images import DataSet

_LOADERS = {"cifar10": load_cifar10, "digits": load_digits}
DATA_NAMES = tuple(_LOADERS)


@lru_cache(maxsize=2)
def load_data(name: str) -> DataSet:
    """The named data set, opened once per process. Never downloads: `evonorm data cifar10` does."""
    if name not in _LOADERS:
        close = difflib.get_close_matches(name, DATA_NAMES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"there is no data set {name!r}.{hint} Known: {', '.join(DATA_NAMES)}.")
    return _LOADERS[name]()
