"""The native kernel: a plan becomes a program of passes over the elements, which the C++ of `native/` runs.

Read `native.py` first: one layer as one autograd node. `library.py` finds the C++ library and prepares layers for it,
`custom_op.py` is the same as an operator that torch.compile sees. `planner.py` makes the program:
`forward.py` and `backward.py` (with `backward_pass.py`) put a plan's values into phases, stages and tile passes,
`tiles.py` gives a pass its registers (`fuse.py` joins instructions first), `slots.py` gives small values their places,
`program.py` is the result and its encoding, `opcodes.py` the instruction set.
"""
