"""Detectors with masks. Read `variants.py` first (which there are), then `mask_rcnn.py` (how one works).

`settings.py` has what can be chosen. `resnet_fpn.py` and `spinenet.py` are the backbones, on `residual_blocks.py`;
`heads.py` looks at their maps. `mask_targets.py` has the masks of objects, `losses.py` what is minimized. torchvision's
matching, sampling, suppression and cropping are used; it is imported when a detector is built and not before.
"""
