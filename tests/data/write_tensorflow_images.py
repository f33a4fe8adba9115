"""Writes tensorflow_images.json: TensorFlow's legacy scaling, random crops and the official evaluation crop.

Needs tensorflow-cpu (2.21.0 here), which the project does not: python tests/data/write_tensorflow_images.py
"""

import json
from pathlib import Path

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
PICTURE = np.random.default_rng(7).integers(0, 256, (17, 23, 3)).astype(np.uint8)
SIZES = (12, 17, 29)
PHOTOS = ((375, 500), (500, 500), (100, 500))  # height, width
QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
CENTRES = ((375, 500, 224, 0.875), (500, 333, 224, 0.875), (64, 64, 64, 0.875), (1201, 799, 456, 456 / 488))


def scaled():
    """(height, width, 3) floats of each size, the picture taken as it is."""
    for name, resize in (("bicubic", v1.image.resize_bicubic), ("bilinear", v1.image.resize_bilinear)):
        for size in SIZES:
            values = resize(PICTURE[None], [size, size], align_corners=False, half_pixel_centers=False)[0].numpy()
            yield {"interpolation": name, "size": size, "values": np.round(values.astype(float), 3).ravel().tolist()}


def crops(height, width, count=20_000):
    """Heights and widths as the official preprocessing asks for them; the whole photo means that ten tries failed."""

    @tf.function
    def draw():
        _, size, _ = v1.image.sample_distorted_bounding_box(
            [height, width, 3],
            bounding_boxes=tf.constant([[[0.0, 0.0, 1.0, 1.0]]]),
            min_object_covered=0.1,
            aspect_ratio_range=(3.0 / 4, 4.0 / 3.0),
            area_range=(0.08, 1.0),
            max_attempts=10,
            use_image_if_no_bounding_boxes=True,
        )
        return size[:2]

    tf.random.set_seed(0)
    sizes = tf.data.Dataset.range(count).map(lambda _: draw()).batch(count)
    drawn = next(iter(sizes)).numpy().astype(float)
    failed = (drawn == [height, width]).all(1)
    drawn = drawn[~failed]
    shares = {
        "area": drawn.prod(1) / (height * width),
        "height": drawn[:, 0] / height,
        "ratio": drawn[:, 1] / drawn[:, 0],
    }
    return {
        "photo": [height, width],
        "count": count,
        "failed": float(failed.mean()),
        "mean_area": float(shares["area"].mean()),
        "smallest_area": float(shares["area"].min()),
        "quantiles": {name: np.quantile(values, QUANTILES).tolist() for name, values in shares.items()},
    }


def centre(height, width, size, share):
    """The official arithmetic (resnet_preprocessing.py), in TensorFlow's types."""
    padding = round(size * (1 / share - 1))
    side = tf.cast((size / (size + padding)) * tf.cast(tf.minimum(height, width), tf.float32), tf.int32)
    window = [((height - side) + 1) // 2, ((width - side) + 1) // 2, side, side]
    return {"photo": [height, width], "size": size, "centre": share, "window": [int(each) for each in window]}


def main():
    values = {
        "tensorflow": tf.__version__,
        "picture": PICTURE.ravel().tolist(),
        "shape": PICTURE.shape,
        "scaled": list(scaled()),
        "probabilities": QUANTILES,
        "crops": [crops(*photo) for photo in PHOTOS],
        "centres": [centre(*each) for each in CENTRES],
    }
    Path(__file__).with_name("tensorflow_images.json").write_text(json.dumps(values) + "\n")


if __name__ == "__main__":
    main()
