"""BigGAN-deep's generator (Brock et al. 2019): bottleneck blocks, each with four conditional positions for a layer."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from evonorm.models.gan.attention import SelfAttention
from evonorm.models.gan.conditional import ConditionalLayer
from evonorm.models.gan.orthogonal import orthogonal_start
from evonorm.models.gan.spectral_norm import SpectralConv2d, SpectralLinear, precise
from evonorm.models.hole import LayerHole

LATENT, EMBEDDING = 128, 128  # numbers of z and of a class
CONDITION = LATENT + EMBEDDING
FIRST_SIDE = 4
NARROWING = 4  # of a block's inside


class GeneratorBlock(nn.Module):
    """layer, 1x1, layer, [twice as large], 3x3, layer, 3x3, layer, 1x1; plus the input's first channels."""

    def __init__(self, in_channels: int, out_channels: int, hole: LayerHole, upsample: bool) -> None:
        super().__init__()
        inside = in_channels // NARROWING
        self.out_channels = out_channels
        self.layer1 = ConditionalLayer(hole, in_channels, CONDITION)
        self.conv1 = SpectralConv2d(in_channels, inside, 1)
        self.layer2 = ConditionalLayer(hole, inside, CONDITION)
        self.upsample = nn.Upsample(scale_factor=2) if upsample else None
        self.conv2 = SpectralConv2d(inside, inside, 3)
        self.layer3 = ConditionalLayer(hole, inside, CONDITION)
        self.conv3 = SpectralConv2d(inside, inside, 3)
        self.layer4 = ConditionalLayer(hole, inside, CONDITION)
        self.conv4 = SpectralConv2d(inside, out_channels, 1)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        shortcut = x[:, : self.out_channels]
        x = self.layer2(self.conv1(self.layer1(x, condition)), condition)
        if self.upsample is not None:
            x, shortcut = self.upsample(x), self.upsample(shortcut)
        x = self.layer3(self.conv2(x), condition)
        x = self.layer4(self.conv3(x), condition)
        return shortcut + self.conv4(x)


class Generator(nn.Module):
    """Pictures (n, 3, side, side) in -1 to 1 from latent vectors (n, 128) and labels (n,).

    The condition of every block is all of z and the class's vector, in this order.

    Arguments:
        channels: of the map of 4x4, and behind each doubling of its side.
        attention: the side of the map that self-attention looks at, None for none.
        hole: makes the layers of the conditional positions, and the unconditional one behind the last block.
        num_classes: of the embedding, which alone has no spectral norm.
    """

    def __init__(self, channels: Sequence[int], attention: int | None, hole: LayerHole, num_classes: int) -> None:
        super().__init__()
        self.attended = attention
        self.embedding = nn.Embedding(num_classes, EMBEDDING)
        self.stem = SpectralLinear(CONDITION, FIRST_SIDE**2 * channels[0])
        self.blocks = nn.ModuleList()
        for here, above in pairwise(channels):
            self.blocks.append(GeneratorBlock(here, here, hole, upsample=False))
            self.blocks.append(GeneratorBlock(here, above, hole, upsample=True))
        self.attention = None
        if attention is not None:
            self.attention = SelfAttention(channels[(attention // FIRST_SIDE).bit_length() - 1])
        self.last_layer = hole(channels[-1])
        self.last_conv = SpectralConv2d(channels[-1], 3, 3)
        orthogonal_start(self)

    def forward(self, z: Tensor, labels: Tensor) -> Tensor:
        check_latents(z, labels)
        condition = torch.cat([z, self.embedding(labels)], 1)
        # (n, side, side, channels) as in the released model, which is channels_last in memory
        x = self.stem(condition).unflatten(1, (FIRST_SIDE, FIRST_SIDE, -1)).permute(0, 3, 1, 2)
        for block in self.blocks:
            x = block(x, condition)
            if self.attention is not None and block.upsample is not None and x.shape[2] == self.attended:
                x = self.attention(x)
        return torch.tanh(precise(self.last_conv(self.last_layer(x))))


def check_latents(z: Tensor, labels: Tensor) -> None:
    if z.ndim != 2 or z.shape[1] != LATENT or labels.shape != z.shape[:1]:
        raise ValueError(
            f"expected latent vectors (batch, {LATENT}) and as many labels (batch,), got {tuple(z.shape)} and"
            f" {tuple(labels.shape)}."
        )
