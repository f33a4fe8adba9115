"""A short training in which a converted model learns to say what the old one said. It needs no labels."""

import math
from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evonorm.layers import no_weight_decay

WARM_UP = 10  # steps


def imitate(
    model: nn.Module,
    teacher: nn.Module,
    batches: Iterable[Any],
    learning_rate: float = 1e-4,
    weight_decay: float = 1e-4,
) -> list[float]:
    """One step of AdamW for each batch, with clipped gradients, a short warm-up and a cosine. Returns the losses.

    The loss is the divergence of the model's classes from the teacher's. For a model that was converted with
    `calibrate=`: from a fresh start this many steps would not be enough. Moments over the batch stay as they are: where
    a layer has them, the model is trained in evaluation mode.

    Arguments:
        model: gives logits (N, classes); trained in place and left in evaluation mode.
        teacher: the model before it was converted, a copy; it is not changed.
        batches: tensors, or tuples whose first item is the input. Two minutes of photos do: 80 batches of 32.
        learning_rate: the highest.
        weight_decay: not for gamma, beta, v0, v1 and biases.

    Example:
        teacher = torchvision.models.resnet18(num_classes=10).eval()
        pictures = torch.randn(64, 3, 32, 32)
        model = evonorm.convert(copy.deepcopy(teacher), "evonorm-s0", pictures[:2], calibrate=pictures)
        losses = evonorm.imitate(model, teacher, pictures.split(16))
    """
    steps = [each if isinstance(each, Tensor) else each[0] for each in batches]
    spared = no_weight_decay(model)
    named = dict(model.named_parameters())
    groups = [
        {"params": [p for name, p in named.items() if name not in spared], "weight_decay": weight_decay},
        {"params": [p for name, p in named.items() if name in spared], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=learning_rate)
    teacher.eval()
    model.eval()
    losses = []
    for step, x in enumerate(steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * _share(step, len(steps))
        with torch.no_grad():
            wanted = F.log_softmax(teacher(x), 1)
        loss = F.kl_div(F.log_softmax(model(x), 1), wanted, reduction="batchmean", log_target=True)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def _share(step: int, steps: int) -> float:
    """Of the highest learning rate: up in the first steps, then down a cosine."""
    return min((step + 1) / WARM_UP, 0.5 * (1 + math.cos(math.pi * step / max(1, steps))))
