"""What a generator is asked for: latent vectors and labels, a pure function of their seed."""

import math

import torch
from torch import Tensor

from evonorm.models import LATENT

Latents = tuple[Tensor, Tensor]  # z (n, 128) and labels (n,)


def draw_latents(count: int, classes: int, seed: int, truncation: float = math.inf) -> Latents:
    """Normal z, or normal within plus and minus `truncation`, as drawing what lies beyond it again would give."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (count,), generator=generator)
    if math.isinf(truncation):
        return torch.randn(count, LATENT, generator=generator), labels
    if not truncation > 0:
        raise ValueError(f"truncation must be positive, got {truncation}.")
    inside = math.erf(truncation / math.sqrt(2))  # the share of a normal that lies within
    uniform = torch.rand(count, LATENT, generator=generator, dtype=torch.float64)
    z = torch.special.erfinv((2 * uniform - 1) * inside) * math.sqrt(2)
    return z.float().clamp(-truncation, truncation), labels


def one_of_each(columns: int, classes: int, seed: int, truncation: float = math.inf) -> Latents:
    """A row for each class, the same vectors in all rows."""
    z, _ = draw_latents(columns, classes, seed, truncation)
    return z.repeat(classes, 1), torch.arange(classes).repeat_interleave(columns)
