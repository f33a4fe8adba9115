"""Generators with the hole at every conditional position, and the discriminators that they play against.

Read `biggan_deep.py` first: the table of sizes and the pair of nets. `generator.py` and `discriminator.py` are the nets
by block, `conditional.py` makes any layer class-conditional, `attention.py` is self-attention; `spectral_norm.py` has
the convolutions and dense layers that all of them are made of, `orthogonal.py` how these start.
"""
