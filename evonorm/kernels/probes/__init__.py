"""What a graph does on a few small arrays, in numpy and in less than a millisecond; nothing here trains or ships.

`small_arrays.py` runs a graph and its input gradient, `fingerprint.py` tells whether two graphs are the same function,
`likeness.py` whether they are nearly so.
"""
