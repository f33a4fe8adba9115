"""How a graph runs. Read `eager.py` first: plain torch, the reference for every other kernel.

`fingerprint.py` tells in a fraction of a millisecond whether two graphs are the same function, by `small_arrays.py`.
"""

from evonorm.kernels.eager import run_eager as run_eager
from evonorm.kernels.eager import run_eager as run_layer

__all__ = ["run_eager", "run_layer"]
