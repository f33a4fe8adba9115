"""Processes that make batches ahead of time: torch's DataLoader, which is handed keys and gives whole batches back."""

from collections.abc import Iterable
from typing import Any

import torch

from evonorm.data.photos.decode import UnreadablePhotoError
from evonorm.data.photos.making import Made
from evonorm.foundation import needs

AHEAD = 2  # batches of each loader


def loading(batches: Any, keys: Iterable[Any], loaders: int, persistent: bool) -> Iterable[Made]:
    """Each time it is iterated: a batch for each key, in order. Processes live as long as it, or as the iteration.

    In each of them torch has one thread, and each ends soon after this process, however that does (torch's watchdog).
    """
    with needs("vision", "decoding photos"):
        import torchvision  # type: ignore[import-untyped]  # noqa: F401 (a second, which forked processes then share)
    return torch.utils.data.DataLoader(
        batches,
        sampler=keys,
        batch_size=None,
        num_workers=loaders,
        collate_fn=_as_it_is,
        pin_memory=torch.cuda.is_available(),
        prefetch_factor=AHEAD,
        persistent_workers=persistent,
        generator=torch.Generator(),  # its seed of seeds, which nothing here uses, must not come from the global one
    )


def checked(made: Made) -> Made:
    if made.problem is not None:
        raise UnreadablePhotoError(made.problem)
    return made


def _as_it_is(made: Any) -> Any:
    return made
