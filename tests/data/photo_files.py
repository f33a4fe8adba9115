"""Folders of small photos for tests, and the real ones that stand beside the project where it is made."""

from pathlib import Path

import numpy as np
import pytest

REAL = Path(__file__).parents[2].parent / "shared" / "data"


def real_folder(name):
    if not (REAL / name).is_dir():
        pytest.skip(f"{name} is not beside the project: the real photos may not be passed on")
    return REAL / name


def write_photo(path, value=0, height=24, width=32, mode="RGB", form=None):
    """A photo whose pixels tell it from every other value's; lossless as PNG."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(value).integers(0, 256, (height // 4, width // 4, 3)).astype(np.uint8)
    photo = Image.fromarray(noise.repeat(4, 0).repeat(4, 1)).convert(mode)
    photo.save(path, form or ("PNG" if path.suffix.lower() == ".png" else "JPEG"))


def write_folder(root, classes=("ant", "bee", "cat"), training=5, validation=2, below="", suffix=".JPEG"):
    """train/CLASS/*, val/CLASS/*; class number i has `training` + i photos."""
    for number, name in enumerate(classes):
        for part, count in (("train", training + number), ("val", validation)):
            for each in range(count):
                value = 1000 * number + each + (500 if part == "val" else 0)
                write_photo(root / part / name / below / f"{name}_{each}{suffix}", value)
    return root
