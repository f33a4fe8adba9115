"""Registrations that a test makes and takes back."""

from contextlib import contextmanager

from evonorm.data import DATA_SETS
from evonorm.graph import CATALOG, INDEX_SETS, PRIMITIVES
from evonorm.kernels.cpu.library import _warn_of_plain_torch
from evonorm.kernels.eager import _functions
from evonorm.kernels.probes.small_arrays import probe_axes
from evonorm.layers.create import BUILDERS
from evonorm.models import ANCHORS
from evonorm.models.create import MODELS
from evonorm.training import TASKS

REGISTERS = (PRIMITIVES, INDEX_SETS, CATALOG, BUILDERS, MODELS, ANCHORS, DATA_SETS, TASKS)


@contextmanager
def taken_back():
    """What is registered inside is gone afterwards, also from what is kept per name."""
    before = [register.names() for register in REGISTERS]
    try:
        yield
    finally:
        for register, names in zip(REGISTERS, before, strict=True):
            for name in set(register.names()) - set(names):
                register.remove(name)
                _functions.pop(name, None)
        probe_axes.cache_clear()
        _warn_of_plain_torch.cache_clear()
