"""How a graph runs. Read `eager.py` first: plain torch, the reference for every other kernel.

`dispatch.py` chooses; `native.py` runs a graph in the C++ library of `native/` as one autograd node, `library.py`
finds that library, `plan/` turns a graph into its program. `fingerprint.py` tells in a fraction of a millisecond
whether two graphs are the same function; `small_arrays.py` runs them for it.
"""

from evonorm.kernels.dispatch import run_layer as run_layer
from evonorm.kernels.eager import run_eager as run_eager

__all__ = ["run_eager", "run_layer"]
