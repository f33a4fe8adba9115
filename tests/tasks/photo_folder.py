"""A small folder of photos in ImageNet's layout, made here: classes differ in colour, photos in size and noise."""

import numpy as np
import pytest

CLASSES = ("amber", "blue", "coral")
COLOURS = ((230, 180, 40), (40, 60, 220), (240, 110, 90))


def write_photos(root, train=16, val=5):
    image = pytest.importorskip("PIL.Image")
    draw = np.random.default_rng(0)
    for part, count in (("train", train), ("val", val)):
        for name, colour in zip(CLASSES, COLOURS, strict=True):
            folder = root / part / name
            folder.mkdir(parents=True)
            for number in range(count):
                height, width = draw.integers(32, 60, 2)
                pixels = np.clip(np.array(colour) + draw.normal(0, 40, (height, width, 3)), 0, 255)
                image.fromarray(pixels.astype(np.uint8)).save(folder / f"{name}{number}.JPEG")
    return root
