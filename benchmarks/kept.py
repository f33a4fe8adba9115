"""What autograd keeps of a forward pass for its backward pass."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def kept_by_autograd(own: Iterable[Tensor]) -> Iterator[dict[int, int]]:
    """Bytes by storage of everything that is kept inside and is none of one's own: weights, inputs."""
    known = {each.untyped_storage().data_ptr() for each in own}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield kept
