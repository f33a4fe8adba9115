"""Self-attention between the places of a map, as in SAGAN and BigGAN (Zhang et al. 2018)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evonorm.models.gan.spectral_norm import SpectralConv2d


class SelfAttention(nn.Module):
    """x + gamma * attention(x): every place looks at every 2x2 window; gamma starts at 0."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.query = SpectralConv2d(channels, channels // 8, 1, bias=False)
        self.key = SpectralConv2d(channels, channels // 8, 1, bias=False)
        self.value = SpectralConv2d(channels, channels // 2, 1, bias=False)
        self.out = SpectralConv2d(channels // 2, channels, 1, bias=False)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        query = places(self.query(x))  # (b, h * w, c / 8)
        key, value = (places(F.max_pool2d(each(x), 2)) for each in (self.key, self.value))  # (b, h * w / 4, ...)
        found = F.scaled_dot_product_attention(query, key, value, scale=1.0)  # (b, h * w, c / 2)
        return x + self.gamma * self.out(found.mT.unflatten(2, x.shape[2:]))


def places(maps: Tensor) -> Tensor:
    """(b, c, h, w) to (b, h * w, c)."""
    return maps.flatten(2).mT
