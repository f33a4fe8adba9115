"""BigGAN-deep by size (Brock et al. 2019): the table of channels, and generator and discriminator as one module.

128, 256 and 512 are the released generators, with three channels behind the last convolution instead of the 128 of
which the released ones use three; discriminators are the mirror images. For 32x32 the authors published none:
`biggan-deep-cifar` is the net of their PyTorch code, six blocks of one width on either side.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from evonorm.models.convolution import scaled_channels
from evonorm.models.gan.discriminator import Discriminator
from evonorm.models.gan.generator import FIRST_SIDE, LATENT, Generator
from evonorm.models.hole import LayerHole


@dataclass(frozen=True)
class Architecture:
    """One size of BigGAN-deep.

    Attributes:
        multiples: of `channels`: of the generator's 4x4 map and behind each doubling; the discriminator's backwards.
        channels: what the multiples multiply, "ch" in the authors' code.
        attention: the side of the map with self-attention in both nets, None for none.
        downs: how often the discriminator halves the map; by default down to 4x4.
    """

    multiples: tuple[int, ...]
    channels: int = 128
    attention: int | None = 64
    downs: int | None = None

    @property
    def image_size(self) -> int:
        return FIRST_SIDE << (len(self.multiples) - 1)


ARCHITECTURES = {
    "biggan-deep-cifar": Architecture((4, 4, 4, 4), channels=64, attention=None, downs=2),
    "biggan-deep-128": Architecture((16, 16, 8, 4, 2, 1)),
    "biggan-deep-256": Architecture((16, 16, 8, 8, 4, 2, 1)),
    "biggan-deep-512": Architecture((16, 16, 8, 8, 4, 2, 1, 1)),
}


class BigGANDeep(nn.Module):
    """A `generator` and its `discriminator`; called, it says how real the generated pictures look.

    Arguments:
        architecture: a row of the table.
        layer: the hole of the generator's positions; the discriminator has no normalization but spectral norm.
        num_classes, width: as in `create_model`.
    """

    def __init__(self, architecture: Architecture, layer: LayerHole, num_classes: int, width: float) -> None:
        super().__init__()
        base = scaled_channels(architecture.channels, width)
        channels = [base * multiple for multiple in architecture.multiples]
        downs = len(channels) - 1 if architecture.downs is None else architecture.downs
        attention, image_size = architecture.attention, architecture.image_size
        self.generator = Generator(channels, attention, layer, num_classes)
        self.discriminator = Discriminator(channels[::-1], downs, attention, image_size, num_classes)

    def forward(self, z: Tensor, labels: Tensor) -> Tensor:
        judged: Tensor = self.discriminator(self.generator(z, labels), labels)
        return judged


def one_latent(architecture: Architecture, image_size: int) -> tuple[Tensor, Tensor]:
    """What a GAN is run on to count it: it makes pictures of its own size only."""
    if image_size != architecture.image_size:
        side = architecture.image_size
        raise ValueError(f"this GAN makes pictures of {side}x{side} and no others, got image_size {image_size}.")
    return torch.zeros(1, LATENT), torch.zeros(1, dtype=torch.long)
