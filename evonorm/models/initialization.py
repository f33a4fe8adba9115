"""How weights start, as in the official TensorFlow code of each family (`docs/models.md` has the places).

It decides. At learning rate 0.1 without warm-up EvoNorm-B0 blows up within 20 steps on ten classes where dense layers
or the features that reach them start too large, while BN-ReLU still trains.
"""

import math

import torch
from torch import Tensor, nn

TRUNCATED_UNIT_STD = 0.87962566103423978  # of a standard normal that is cut at two


@torch.no_grad()
def truncated_normal_(weight: Tensor, std: float) -> None:
    """TensorFlow's truncated normal: `std` is the uncut normal's, which is cut at two of them.

    By the inverse distribution function: torch's own redraws in a loop and takes nine times as long.
    """
    inside = math.erf(math.sqrt(2))  # share of a normal within two std
    weight.uniform_(-inside, inside).erfinv_().mul_(math.sqrt(2) * std)


def variance_scaling_(weight: Tensor) -> None:
    """TensorFlow's `variance_scaling_initializer()`: truncated normal with std sqrt(1 / fan_in) after the cut."""
    truncated_normal_(weight, math.sqrt(1 / weight[0].numel()) / TRUNCATED_UNIT_STD)


def fan_out_normal_(weight: Tensor, groups: int) -> None:
    """Normal with variance 2 / fan_out, where a depthwise convolution has fan_out k*k (MnasNet, EfficientNet)."""
    fan_out = weight[:, 0].numel() // groups
    nn.init.normal_(weight, std=math.sqrt(2 / fan_out))


def imagenet_uniform_(weight: Tensor) -> None:
    """Uniform within 1 / sqrt(1000), for the last dense layer of MnasNet and EfficientNet.

    The official bound is 1 / sqrt(classes), which for 1000 classes is the same. With ten it would be ten times as wide,
    and EvoNorm-B0 then blows up within 20 steps in the EfficientNet anchors.
    """
    bound = 1 / math.sqrt(1000)
    nn.init.uniform_(weight, -bound, bound)


def zero_biases(model: nn.Module) -> None:
    """Biases of convolutions and dense layers start at zero in all of the official models."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)) and module.bias is not None:
            nn.init.zeros_(module.bias)
