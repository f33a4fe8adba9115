"""Inception v3 without its head, as FID reads it, and with one, as the Inception score does (Szegedy et al. 2015).

Two sets of weights fit: those of 2015-12-05, which every published FID was computed with, and those of TensorFlow's
slim library. Batch normalization is folded into the convolutions; an 8-bit net's activations end at a ceiling.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEATURES = 2048
SIDE = 299


class Convolution(nn.Conv2d):
    """A convolution with bias, ReLU, and a ceiling above it, which is infinite where nothing was quantized."""

    ceiling: Tensor

    def __init__(
        self, in_channels: int, out_channels: int, kernel: int | tuple[int, int], stride: int = 1, same: bool = True
    ) -> None:
        high, wide = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (high // 2, wide // 2) if same else 0
        super().__init__(in_channels, out_channels, (high, wide), stride, padding)
        self.register_buffer("ceiling", torch.tensor(torch.inf))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu_(super().forward(x))
        return y if torch.isinf(self.ceiling) else y.clamp_max_(self.ceiling)


class Split(nn.Module):
    """Two convolutions of one input, side by side."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.wide, self.high = Convolution(channels, 384, (1, 3)), Convolution(channels, 384, (3, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.wide(x), self.high(x)], 1)


class Mixed(nn.Module):
    """Branches of one input, their outputs side by side."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


def average() -> nn.Module:
    return nn.AvgPool2d(3, 1, 1, count_include_pad=False)


def halving() -> nn.Module:
    return nn.MaxPool2d(3, 2)


def chain(channels: int, *parts: tuple[int, int | tuple[int, int]], last_stride: int = 1) -> nn.Sequential:
    """Convolutions one behind the other, each as (out channels, kernel); the last may halve the map."""
    made = nn.Sequential()
    for number, (out, kernel) in enumerate(parts):
        halves = last_stride == 2 and number == len(parts) - 1
        made.append(Convolution(channels, out, kernel, 2 if halves else 1, same=not halves))
        channels = out
    return made


def at_35(channels: int, pooled: int) -> Mixed:
    return Mixed(
        chain(channels, (64, 1)),
        chain(channels, (48, 1), (64, 5)),
        chain(channels, (64, 1), (96, 3), (96, 3)),
        nn.Sequential(average(), Convolution(channels, pooled, 1)),
    )


def at_17(n: int) -> Mixed:
    return Mixed(
        chain(768, (192, 1)),
        chain(768, (n, 1), (n, (1, 7)), (192, (7, 1))),
        chain(768, (n, 1), (n, (7, 1)), (n, (1, 7)), (n, (7, 1)), (192, (1, 7))),
        nn.Sequential(average(), Convolution(768, 192, 1)),
    )


def at_8(channels: int, pool: nn.Module) -> Mixed:
    return Mixed(
        chain(channels, (320, 1)),
        chain(channels, (384, 1)).append(Split(384)),
        chain(channels, (448, 1), (384, 3)).append(Split(384)),
        nn.Sequential(pool, Convolution(channels, 192, 1)),
    )


class Inception(nn.Module):
    """Pictures (n, 3, 299, 299) as (x - 128) / 128 to features (n, 2048); `logits` takes these on.

    Arguments:
        last_pool: "max" in the graph of 2015, "average" in slim's.
        classes: of the head, 0 for none.
    """

    def __init__(self, last_pool: Literal["max", "average"] = "max", classes: int = 0) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            Convolution(3, 32, 3, 2, same=False),
            Convolution(32, 32, 3, same=False),
            Convolution(32, 64, 3),
            halving(),
            Convolution(64, 80, 1),
            Convolution(80, 192, 3, same=False),
            halving(),
        )
        self.mixed = nn.Sequential(
            *(at_35(channels, pooled) for channels, pooled in ((192, 32), (256, 64), (288, 64))),
            Mixed(chain(288, (384, 3), last_stride=2), chain(288, (64, 1), (96, 3), (96, 3), last_stride=2), halving()),
            *(at_17(n) for n in (128, 160, 160, 192)),
            Mixed(
                chain(768, (192, 1), (320, 3), last_stride=2),
                chain(768, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3), last_stride=2),
                halving(),
            ),
            at_8(1280, average()),
            at_8(2048, nn.MaxPool2d(3, 1, 1) if last_pool == "max" else average()),
        )
        self.head = nn.Linear(FEATURES, classes) if classes else None

    def forward(self, pictures: Tensor) -> Tensor:
        return self.mixed(self.stem(pictures)).mean((2, 3))

    def logits(self, features: Tensor) -> Tensor:
        if self.head is None:
            raise ValueError("these weights have no head: the Inception score needs those of slim.")
        scores: Tensor = self.head(features)
        return scores

    def numbers(self) -> Iterator[Tensor]:
        """Every tensor, in the order in which a file keeps them."""
        for module in self.modules():
            if isinstance(module, Convolution):
                yield from (module.weight, module.bias, module.ceiling)  # type: ignore[misc]
        if self.head is not None:
            yield from (self.head.weight, self.head.bias)

    @torch.no_grad()
    def fill(self, values: Tensor | Sequence[Tensor]) -> None:
        """Takes all numbers from one flat tensor, or from one for each of `numbers`."""
        mine = list(self.numbers())
        parts = values.split([each.numel() for each in mine]) if isinstance(values, Tensor) else values
        for each, part in zip(mine, parts, strict=True):
            each.copy_(part.view(each.shape) if isinstance(values, Tensor) else part)
