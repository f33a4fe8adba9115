"""Classifiers. Read `resnet_v2.py` first, then `inverted_residual.py`, the block of `mobilenet_v2.py`, `mnasnet.py` and
`efficientnet.py`. `anchors.py` has the small nets that a search judges layers on.
"""
