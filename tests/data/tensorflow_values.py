"""The stored values of TensorFlow, read; the scripts beside say how they were made."""

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import torch

STORED_IMAGES, STORED_OPERATIONS = (
    json.loads(Path(__file__).with_name(f"tensorflow_{name}.json").read_text()) for name in ("images", "operations")
)


def unpacked(text):
    """(3, height, width) uint8."""
    values = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).reshape(STORED_OPERATIONS["shape"])
    return torch.from_numpy(values.copy()).permute(2, 0, 1).contiguous()


def scaled_picture():
    return (
        torch.tensor(STORED_IMAGES["picture"], dtype=torch.uint8)
        .reshape(STORED_IMAGES["shape"])
        .permute(2, 0, 1)
        .contiguous()
    )
