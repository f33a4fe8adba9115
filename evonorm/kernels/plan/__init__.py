"""A graph as typed values, for whatever device runs it. Pure Python, no torch, no library.

Read `rewrite.py` first: graph in, values out. `values.py` (with `fold.py` and `cancel.py`) is the form: hash-consed
values that know where they vary; `adjoints.py` is the derivative of every operation.
"""

from evonorm.kernels.plan.values import Kind as Kind
