"""Inception's view of pictures, and that of a data set's own pictures, which is computed once and kept."""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from evonorm.data import data_folder
from evonorm.foundation import write_atomically
from evonorm.tasks.gan.inception import SIDE
from evonorm.tasks.gan.inception_files import Weights, load_weights
from evonorm.tasks.gan.real_pictures import RealPictures
from evonorm.tasks.gan.tf_resize import tf1_resize
from evonorm.training import read_tensors

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
BATCH = 50
BLOCK = 1000  # real pictures whose features are kept at a time: minutes


class FeatureReader:
    """Pictures (n, 3, h, w) as bytes to features (n, 2048) and, where the weights have a head, logits.

    Arguments:
        weights: which Inception.
        precision: "float32", or "bfloat16" in half the time: right for a curve if real and generated pictures are
            both read so.
    """

    def __init__(self, weights: Weights, precision: str) -> None:
        self.dtype = PRECISIONS[precision]
        self.net = load_weights(weights).to(self.dtype).to(memory_format=torch.channels_last)

    @torch.inference_mode()
    def read(self, pictures: Tensor) -> Tensor:
        """Features, or logits of weights with a head, in float32."""
        assert pictures.dtype == torch.uint8, "generated pictures are rounded to bytes first, as real ones are"
        self.net.to(pictures.device)
        with torch.autocast(pictures.device.type, enabled=False):
            return torch.cat([self._read(part) for part in pictures.split(BATCH)])

    def _read(self, pictures: Tensor) -> Tensor:
        ready = ((tf1_resize(pictures, SIDE) - 128) / 128).to(self.dtype)
        features = self.net(ready.contiguous(memory_format=torch.channels_last))
        return (features if self.net.head is None else self.net.logits(features)).float().cpu()


def as_bytes(pictures: Tensor) -> Tensor:
    """Pictures of -1 to 1 as bytes."""
    return ((pictures.float() + 1) * 127.5).round().clamp(0, 255).byte()


def real_features(pictures: RealPictures, part: str, count: int, weights: Weights, precision: str) -> Tensor:
    """Of the first so many real pictures in a fixed random order, read once on this machine and kept, block by block.

    Whoever asks for fewer or for more takes the same blocks, and what was stopped goes on.
    """
    if count < 2:
        raise ValueError(f"it takes two pictures to compare with, asked for {count}.")
    folder = _kept(pictures.name, part, weights, precision)
    reader = None
    blocks = []
    for start in range(0, count, BLOCK):
        stop = min(start + BLOCK, count)
        path = folder / f"{start:06d}.pt"
        block = read_tensors(path, "cpu", "Remove it: it is made again.") if path.exists() else torch.empty(0)
        if len(block) < stop - start:
            reader = reader or FeatureReader(weights, precision)
            block = _write_block(path, reader, pictures.chosen(part, start, stop))
        blocks.append(block[: stop - start])
    return torch.cat(blocks)


def _write_block(path: Path, reader: FeatureReader, pictures: Iterator[Tensor]) -> Tensor:
    found = torch.cat([reader.read(batch) for batch in pictures])
    write_atomically(path, lambda file: torch.save(found, file))
    return found


def _kept(name: str, part: str, weights: Weights, precision: str) -> Path:
    """The resize is in the name: other features come of another."""
    return data_folder() / "features" / f"{name}-{part}-{Path(weights.kept).stem}-{precision}-tf1"
