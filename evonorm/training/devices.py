"""Where a step is computed and how precisely: batches to the device, seeds for it, autocast and a scaled loss."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

PRECISIONS = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def device_of(model: nn.Module) -> torch.device:
    """Where a model's weights are."""
    return next((each.device for each in model.parameters()), torch.device("cpu"))


def moved(batch: Any, device: torch.device) -> Any:
    """A batch, whatever holds its tensors, on the device; what is there already is not copied."""
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {key: moved(value, device) for key, value in batch.items()}
    if isinstance(batch, (tuple, list)):
        return type(batch)(moved(each, device) for each in batch)
    return batch


@contextmanager
def own_randomness(device: torch.device) -> Iterator[None]:
    """Inside, torch's generators are the run's; afterwards they are the caller's again."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


def seed_everything(device: torch.device, seed: int) -> None:
    """Decides what layers draw from now on; torch.manual_seed visits all devices and takes 100 times as long."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """The context that a forward pass runs in."""
    return torch.autocast(device.type, PRECISIONS.get(precision, torch.bfloat16), enabled=precision in PRECISIONS)
