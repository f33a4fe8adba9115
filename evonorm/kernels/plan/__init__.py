"""What the native kernel runs for a graph. Pure Python, no torch, no library.

Read `planner.py` first. `values.py` (with `fold.py`, `cancel.py`) and `rewrite.py` turn the graph into typed values,
`forward.py`, `backward.py` (with `backward_pass.py`, `adjoints.py`) order them into phases, stages and tile passes,
`tiles.py` gives a pass its registers (`fuse.py` joins instructions first), `slots.py` gives small values their places,
`program.py` is the result and its encoding, `opcodes.py` the instruction set.
"""

from evonorm.kernels.plan.opcodes import OPCODES as OPCODES
from evonorm.kernels.plan.planner import plan as plan
from evonorm.kernels.plan.program import Home as Home
from evonorm.kernels.plan.program import Program as Program
from evonorm.kernels.plan.values import Kind as Kind
