"""Many processes that train one model together, as `torchrun` starts them; one process is the special case of one rank.

Logical workers belong to the recipe, ranks to the hardware: each rank takes its share of the workers in turn, and the
gradients of all of them are summed. What one rank decides for all (time, what is kept) is the first one's word.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

T = TypeVar("T")
BUCKET = 25 * 2**20  # bytes that are sent at a time


def rank() -> int:
    """This process's number among those that train together."""
    return dist.get_rank() if dist.is_initialized() else 0


def ranks() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


@contextmanager
def torchrun_ranks() -> Iterator[torch.device]:
    """Joins the processes that `torchrun` started, if it did; gives the device of this one: its GPU, or the CPU."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield device
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield device
    finally:
        dist.destroy_process_group()


def my_workers(workers: int) -> range:
    """The logical workers that this rank computes."""
    if workers % ranks():
        raise ValueError(
            f"{workers} logical workers cannot be shared out evenly to {ranks()} ranks."
            f" Start a number of processes that divides {workers}; the recipe's workers decide the figures."
        )
    share = workers // ranks()
    return range(rank() * share, (rank() + 1) * share)


def sum_gradients(net: nn.Module) -> None:
    """Every rank's gradients become the sum over all ranks."""
    if ranks() > 1:
        _in_buckets([each.grad for each in net.parameters() if each.grad is not None], dist.all_reduce)


def share_buffers(net: nn.Module) -> None:
    """Every rank's buffers become those of the first."""
    if ranks() > 1:
        _in_buckets(list(net.buffers()), lambda flat: dist.broadcast(flat, src=0))


def sum_over_ranks(values: Tensor) -> Tensor:
    """The sum of what every rank has, on every rank."""
    if ranks() > 1:
        values = values.clone()
        dist.all_reduce(values)
    return values


def word_of_the_first(say: Callable[[], T]) -> T:
    """What the first rank says, for all; the others are not asked."""
    if ranks() == 1:
        return say()
    words: list[Any] = [say() if rank() == 0 else None]
    dist.broadcast_object_list(words, src=0)
    return words[0]


def check_agreement(what: str, value: object) -> None:
    """Raises where ranks do not have the same, before they go on to wait for each other."""
    if ranks() == 1:
        return
    every: list[object] = [None] * ranks()
    dist.all_gather_object(every, value)
    if any(each != every[0] for each in every):
        raise ValueError(f"ranks differ in {what}: {every}. All of them must see the same files and recipe.")


def _in_buckets(tensors: Sequence[Tensor], send: Callable[[Tensor], Any]) -> None:
    """Few large messages instead of many small ones; tensors of one type together."""
    kinds = {tensor.dtype for tensor in tensors}
    for kind in sorted(kinds, key=str):
        bucket: list[Tensor] = []
        for tensor in (each for each in tensors if each.dtype == kind):
            bucket.append(tensor)
            if sum(each.numel() * each.element_size() for each in bucket) >= BUCKET:
                _send(bucket, send)
                bucket = []
        if bucket:
            _send(bucket, send)


@torch.no_grad()
def _send(bucket: Sequence[Tensor], send: Callable[[Tensor], Any]) -> None:
    flat = torch.cat([tensor.flatten() for tensor in bucket])
    send(flat)
    for tensor, part in zip(bucket, flat.split([tensor.numel() for tensor in bucket]), strict=True):
        tensor.copy_(part.view(tensor.shape))
