"""The native kernel. `native.py` runs a graph in the C++ library of `native/` as one autograd node, `library.py` finds
that library, `custom_op.py` is the same as an operator that torch.compile and torch.export see.
"""
