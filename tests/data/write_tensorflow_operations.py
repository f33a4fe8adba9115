"""Writes tensorflow_operations.json: what the official augmentation operations do to a small picture.

Runs efficientnet/autoaugment.py of github.com/tensorflow/tpu (models/official, commit 7dc921f), whose path it is given.
That file is for TensorFlow 1; what it takes from tensorflow.contrib, of which nothing is left, is stood in for by the
core operation ImageProjectiveTransformV3, which contrib's became, with contrib's matrices. Needs tensorflow-cpu (2.21.0
here), which the project does not: python tests/data/write_tensorflow_operations.py autoaugment.py
"""

import base64
import importlib.util
import json
import math
import sys
import types
import zlib
from pathlib import Path

import numpy as np
import tensorflow as tf

MAGNITUDES = (0.5, 3, 9, 17)
BEYOND = {"Posterize": (2, 10, 28), "Solarize": (10, 28)}  # where bytes wrap
SIGNED = ("Rotate", "ShearX", "ShearY", "TranslateX", "TranslateY")
RANDAUGMENT, AUTOAUGMENT = {"cutout_const": 40, "translate_const": 100}, {"cutout_const": 100, "translate_const": 250}
CENTRE = (6, 20)  # of the cut-out part: row, column


def picture(height=20, width=27):
    """A smooth ramp in each channel, with noise that a byte holds in steps of 8; no channel has all values."""
    down, right = np.mgrid[:height, :width]
    ramps = np.stack([60 + 9 * down, 200 - 6 * right, 40 + 4 * down + 3 * right], 2)
    noise = 8 * np.random.default_rng(3).integers(-3, 4, (height, width, 3))
    return np.clip(ramps + noise, 5, 250).astype(np.uint8)


def transform(image, matrix):
    moved = tf.raw_ops.ImageProjectiveTransformV3(
        images=image[None],
        transforms=tf.convert_to_tensor([matrix], tf.float32),
        output_shape=tf.shape(image)[:2],
        fill_value=0.0,
        interpolation="NEAREST",
        fill_mode="CONSTANT",
    )
    return moved[0]


def rotate(image, angle):
    height, width = float(image.shape[0]), float(image.shape[1])
    cos, sin = math.cos(angle), math.sin(angle)
    x = ((width - 1) - (cos * (width - 1) - sin * (height - 1))) / 2
    y = ((height - 1) - (sin * (width - 1) + cos * (height - 1))) / 2
    return transform(image, [cos, -sin, x, sin, cos, y, 0.0, 0.0])


def translate(image, shift):
    return transform(image, [1.0, 0.0, -shift[0], 0.0, 1.0, -shift[1], 0.0, 0.0])


def official(path):
    contrib = types.ModuleType("tensorflow.contrib")
    contrib.image = types.SimpleNamespace(rotate=rotate, translate=translate, transform=transform)
    contrib.training = types.SimpleNamespace(HParams=types.SimpleNamespace)
    sys.modules["tensorflow.contrib"] = contrib
    spec = importlib.util.spec_from_file_location("official_autoaugment", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def packed(array):
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array, np.uint8).tobytes(), 9)).decode()


def outputs(module, name, magnitude, negated):
    module._randomly_negate_tensor = lambda value: -value if negated else value
    centre = iter(CENTRE)
    module.tf.random_uniform = lambda **_: tf.constant(next(centre))
    reach = types.SimpleNamespace(**RANDAUGMENT)
    function, _, arguments = module._parse_policy_info(name, 1.0, float(magnitude), [128] * 3, reach)
    after = function(tf.constant(picture()), *arguments)
    arguments = [each for each in arguments if not isinstance(each, list)]
    values = {
        "operation": name,
        "magnitude": magnitude,
        "negated": negated,
        "argument": arguments[0] if arguments else None,
    }
    return values | {"picture": packed(after.numpy())}


def arguments(module, reach):
    """What every operation is called with at each magnitude, without its sign."""
    module._randomly_negate_tensor = lambda value: value
    table = module.level_to_arg(types.SimpleNamespace(**reach))
    return {name: {str(m): list(table[name](float(m))) for m in (0, 1, 3, 5, 9, 10, 17)} for name in table}


def main():
    module = official(sys.argv[1])
    found = [
        outputs(module, name, magnitude, negated)
        for name in module.NAME_TO_FUNC
        for magnitude in (*MAGNITUDES, *BEYOND.get(name, ()))
        for negated in ((False, True) if name in SIGNED else (False,))
    ]
    values = {
        "tensorflow": tf.__version__,
        "shape": picture().shape,
        "picture": packed(picture()),
        "centre": CENTRE,
        "arguments": {"randaugment": arguments(module, RANDAUGMENT), "autoaugment": arguments(module, AUTOAUGMENT)},
        "policy_v0": module.policy_v0(),
        "outputs": found,
    }
    Path(__file__).with_name("tensorflow_operations.json").write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
