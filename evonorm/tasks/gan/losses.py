"""What the two nets of a GAN minimize: the hinge loss, and orthogonal regularization of the generator."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def hinge_losses(real: Tensor, fake: Tensor) -> dict[str, Tensor]:
    """The discriminator's: real pictures above 1, generated ones below -1 (Lim and Ye 2017)."""
    return {"real": F.relu(1 - real).mean(), "fake": F.relu(1 + fake).mean()}


def orthogonal_penalty(net: nn.Module) -> Tensor:
    """½ Σ |W Wᵀ without its diagonal|² over all matrices but the plain class embedding (Brock et al. 2019).

    Its gradient is 2 (W Wᵀ without its diagonal) W, as the authors' code adds it. Of a tall W the smaller Wᵀ W has
    the same norm.
    """
    weights = [module.weight.flatten(1) for module in net.modules() if isinstance(module, (nn.Conv2d, nn.Linear))]
    with torch.autocast(weights[0].device.type, enabled=False):
        return 0.5 * torch.stack([_off_diagonal(weight) for weight in weights]).sum()


def _off_diagonal(weight: Tensor) -> Tensor:
    rows, columns = weight.shape
    product = weight @ weight.T if rows <= columns else weight.T @ weight
    return product.square().sum() - weight.square().sum(1).square().sum()


@contextmanager
def frozen(net: nn.Module) -> Iterator[None]:
    """Inside, gradients pass through the net and none is kept for its weights."""
    net.requires_grad_(False)
    try:
        yield
    finally:
        net.requires_grad_(True)


@contextmanager
def moments_at_rest(net: nn.Module) -> Iterator[None]:
    """Inside, moving moments do not move, though layers use those of the batch: it is another net's turn."""
    layers = [module for module in net.modules() if isinstance(getattr(module, "momentum", None), float)]
    momenta = [layer.momentum for layer in layers]
    for layer in layers:
        layer.momentum = 0.0  # type: ignore[assignment]
    try:
        yield
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
