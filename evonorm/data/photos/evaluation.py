"""Every photo once, for evaluation: a share for each rank, nothing padded, so that sums over ranks are exact."""

from collections.abc import Iterator

from torch import Tensor

from evonorm.data.photos.loaders import checked, loading
from evonorm.data.photos.making import EvaluationBatches
from evonorm.data.photos.photo_list import Photos
from evonorm.data.photos.settings import PictureSettings


def whole_photos(
    photos: Photos, settings: PictureSettings, batch_size: int, rank: int, ranks: int, loaders: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """This rank's share in order, as uint8 pictures and int64 labels; the last batch may be smaller.

    Unreadable files are left out if the settings say "skip", so that fewer labels come than there are photos.
    """
    if not 0 <= rank < ranks:
        raise ValueError(f"rank must lie in 0 to {ranks - 1}, got {rank}.")
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}.")
    first, end = len(photos) * rank // ranks, len(photos) * (rank + 1) // ranks
    keys = [(start, min(start + batch_size, end)) for start in range(first, end, batch_size)]
    batches = EvaluationBatches(photos, settings)
    found = loading(batches, keys, loaders, persistent=False) if loaders else map(batches.__getitem__, keys)
    return ((made.pictures, made.labels) for made in map(checked, found))
