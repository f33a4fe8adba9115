"""Small real COCO, where it is: beside the project and never in it (research licence)."""

import importlib.util
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared" / "data"
COCO_TINY = SHARED / "coco_tiny"
needs_coco = pytest.mark.skipif(
    importlib.util.find_spec("pycocotools") is None, reason="pycocotools is not installed (extra coco)"
)
needs_coco_tiny = pytest.mark.skipif(not COCO_TINY.exists(), reason="no ../shared/data/coco_tiny: 160 pictures of COCO")
EIGHT = (24577, 57345, 245760, 286720, 294914, 483330, 499716, 524291)  # 22 objects, none of them tiny
