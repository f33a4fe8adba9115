"""Weights that start orthogonal, as those of BigGAN do: convolutions, dense layers, projections and embeddings."""

from torch import nn


def orthogonal_start(net: nn.Module) -> None:
    """Every matrix orthogonal, every bias zero; what belongs to the layers in the holes stays as it is."""
    for module in net.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear, nn.Embedding)):
            nn.init.orthogonal_(module.weight)
        if isinstance(module, (nn.Conv2d, nn.Linear)) and module.bias is not None:
            nn.init.zeros_(module.bias)
