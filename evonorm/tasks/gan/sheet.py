"""A sheet of pictures as one PNG file, also of a stored generator's."""

import io
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from evonorm.foundation import needs, seed_from
from evonorm.tasks.gan.latents import one_of_each
from evonorm.tasks.gan.sampling import load_generator, pictures_of, standing_latents, standing_statistics

GAP = 2  # white pixels between pictures
BATCH, STANDING_BATCHES = 64, 50


def sample_sheet(path: Path, truncation: float = math.inf, columns: int = 8, classes: int = 10, seed: int = 0) -> bytes:
    """The PNG of a stored generator's pictures, a row for each of the first classes, the same vectors in all rows.

    Layers with moments over the batch get standing statistics of their own for the truncation, without which they give
    worse pictures.
    """
    generator, origin = load_generator(path)
    latents = one_of_each(columns, min(classes, origin.classes), seed_from(seed, 0), truncation)
    standing = standing_latents(STANDING_BATCHES, BATCH, origin.classes, seed_from(seed, 1), truncation)
    with standing_statistics(generator, standing):
        return sheet_png(torch.cat(pictures_of(generator, latents, BATCH)), columns)


def sheet_png(pictures: Tensor, columns: int) -> bytes:
    """Pictures (n, 3, h, w) as bytes, `columns` to a row, small ones twice as large."""
    with needs("vision", "a sheet of samples"):
        from PIL import Image
    if pictures.shape[2] < 64:
        pictures = pictures.repeat_interleave(2, 2).repeat_interleave(2, 3)
    missing = -len(pictures) % columns
    padded = F.pad(pictures.cpu(), (0, GAP, 0, GAP, 0, 0, 0, missing), value=255)
    rows = padded.unflatten(0, (-1, columns)).permute(0, 3, 1, 4, 2)  # (rows, h, columns, w, 3)
    whole = rows.flatten(2, 3).flatten(0, 1).contiguous()
    assert whole.dtype == torch.uint8
    file = io.BytesIO()
    Image.fromarray(whole.numpy()).save(file, format="PNG")
    return file.getvalue()
