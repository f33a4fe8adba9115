"""Spectral norm: weights divided by their largest singular value, found by power iteration (Miyato et al. 2018).

A weight takes one iteration for each update: in the first pass in training that is to be differentiated since its
gradient was cleared. Passes without gradients (the generator in the discriminator's turn, standing statistics) and
frozen weights leave the vector as it is. So logical workers in turn see the same weights as devices side by side, and
a checkpoint between two steps holds all there is. torch's own parametrization iterates in every pass in training, keeps
two vectors, copies channels_last weights to make matrices of them, and takes twice to four times as long.
"""

from contextlib import AbstractContextManager, nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor, nn

EPS = 1e-4  # below the lengths of vectors, as in the released BigGANs


class _Spectral(nn.Module):
    """A module whose `weight` is divided by its largest singular value; `u` is the left singular vector so far."""

    weight: Tensor
    u: Tensor

    def add_vector(self) -> None:
        self.register_buffer("u", unit(torch.randn(len(self.weight))))

    def normalized(self) -> Tensor:
        """The weight over its largest singular value, in the weight's own precision whatever autocast says."""
        weight = self.weight
        with without_autocast(weight.device.type):
            matrix = as_matrix(weight)
            if self.training and torch.is_grad_enabled() and weight.requires_grad and weight.grad is None:
                self.iterate(matrix)
            left = unit(self.u)  # an average of such vectors, as in averaged weights, is shorter than 1
            return weight / torch.linalg.vector_norm(torch.mv(matrix.mT, left)).clamp_min(EPS)

    @torch.no_grad()
    def iterate(self, matrix: Tensor) -> None:
        self.u.copy_(unit(torch.mv(matrix, unit(torch.mv(matrix.mT, self.u)))))


def as_matrix(weight: Tensor) -> Tensor:
    """A row for each output, without a copy in either layout: the order of the columns changes no singular value."""
    if weight.ndim == 4 and weight.is_contiguous(memory_format=torch.channels_last):
        weight = weight.permute(0, 2, 3, 1)
    return weight.flatten(1)


def unit(vector: Tensor) -> Tensor:
    return vector / torch.linalg.vector_norm(vector).clamp_min(EPS)


def without_autocast(device: str) -> AbstractContextManager[None]:
    """A device that never autocasts (meta) cannot be told not to."""
    return torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext()


def precise(x: Tensor) -> Tensor:
    """In float32 or better: what autocast made narrow and sums or losses are to be made of."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def singular_values(net: nn.Module) -> dict[str, float]:
    """Of every weight with spectral norm by name, before it is divided: the largest, as far as it is known."""
    return {
        name: float(torch.linalg.vector_norm(torch.mv(as_matrix(module.weight.detach()).mT, unit(module.u))))
        for name, module in net.named_modules()
        if isinstance(module, _Spectral)
    }


class SpectralConv2d(_Spectral, nn.Conv2d):
    """A convolution that keeps the size, with a weight of largest singular value 1."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int, bias: bool = True) -> None:
        super().__init__(in_channels, out_channels, kernel, padding=kernel // 2, bias=bias)
        self.add_vector()

    def forward(self, x: Tensor) -> Tensor:
        return self._conv_forward(x, self.normalized(), self.bias)


class SpectralLinear(_Spectral, nn.Linear):
    """A dense layer with a weight of largest singular value 1."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        self.add_vector()

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.normalized(), self.bias)


class SpectralEmbedding(_Spectral, nn.Embedding):
    """A vector for each class, the table of them with largest singular value 1."""

    def __init__(self, classes: int, features: int) -> None:
        super().__init__(classes, features)
        self.add_vector()

    def forward(self, labels: Tensor) -> Tensor:
        return F.embedding(labels, self.normalized())
