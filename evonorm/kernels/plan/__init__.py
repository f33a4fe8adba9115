"""A graph as a plan, for whatever device runs it. Pure Python, no torch, no library.

Read `plan.py` first: the result. `rewrite.py` makes it from a graph. `values.py` (with `fold.py` and `cancel.py`) is
the form: hash-consed values that know where they vary; `levels.py` says when values and adjoints are complete,
`adjoints.py` is the derivative of every operation, `flows.py` says which adjoints a pass over the elements needs.
"""

from evonorm.kernels.plan.plan import Plan as Plan
from evonorm.kernels.plan.rewrite import make_plan as make_plan
from evonorm.kernels.plan.values import Kind as Kind
