"""Maps the state dicts of torchvision's and timm's models to ours, so that weights can be compared."""

import re
from functools import partial

import torch
import torchvision
from timm import create_model as timm_model
from torch import nn


class BatchNormThen(nn.BatchNorm2d):
    """BatchNorm with exactly the activation that the rival has behind it."""

    def __init__(self, channels, activation, nonlinearity=True, eps=1e-5):
        super().__init__(channels, eps=eps)
        self.activation = activation if nonlinearity else None

    def forward(self, x):
        z = super().forward(x)
        return z if self.activation is None else self.activation(z)


def layer_with(activation, eps=1e-5):
    return lambda channels, nonlinearity=True: BatchNormThen(channels, activation, nonlinearity, eps)


RESNET_NAMES = {
    "norm1": "layer1",
    "conv1": "reduce",
    "norm2": "layer2",
    "conv2": "spatial",
    "norm3": "layer3",
    "conv3": "restore",
    "downsample.conv": "shortcut",
}


def from_timm_resnet(state, blocks_per_stage):
    mapped = {}
    for key, value in state.items():
        if match := re.fullmatch(r"stages\.(\d+)\.blocks\.(\d+)\.(.+)\.(\w+)", key):
            block = sum(blocks_per_stage[: int(match[1])]) + int(match[2])
            mapped[f"blocks.{block}.{RESNET_NAMES[match[3]]}.{match[4]}"] = value
        else:
            name = key.replace("stem.conv", "stem").replace("head.fc", "classifier")
            mapped[re.sub(r"^norm\.", "last_layer.", name)] = value
    mapped["classifier.weight"] = mapped["classifier.weight"].flatten(1)
    return mapped


BLOCK_NAMES = ("expand", "expand_layer", "depthwise", "depthwise_layer", "project", "project_layer")


def from_torchvision_mobilenet(state):
    mapped = {}
    for key, value in state.items():
        _, place, *rest = key.split(".")
        if key.startswith("classifier"):
            mapped[f"classifier.{rest[0]}"] = value
        elif place in ("0", "18"):
            name = {"0": "stem", "18": "head"}[place] + ("_layer" if rest[0] == "1" else "")
            mapped[f"{name}.{rest[1]}"] = value
        else:
            missing = 2 if place == "1" else 0  # the first block has no expansion
            *numbers, parameter = rest[1:]  # 0.0 0.1 1.0 1.1 2 3, or 0.0 0.1 1 2 without expansion
            pairs = 1 if missing else 2
            at = 2 * int(numbers[0]) + int(numbers[1]) if len(numbers) == 2 else int(numbers[0]) + pairs
            mapped[f"blocks.{int(place) - 1}.{BLOCK_NAMES[missing + at]}.{parameter}"] = value
    return mapped


def from_torchvision_mnasnet(state):
    outer = {0: "stem", 1: "stem_layer", 14: "head", 15: "head_layer"}
    first = {3: "depthwise", 4: "depthwise_layer", 6: "project", 7: "project_layer"}
    inner = dict(zip((0, 1, 3, 4, 6, 7), BLOCK_NAMES, strict=True))
    stacks = (3, 3, 3, 2, 4, 1)
    mapped = {}
    for key, value in state.items():
        words = key.split(".")
        if key.startswith("classifier"):
            name = "classifier"
        elif int(words[1]) in outer:
            name = outer[int(words[1])]
        elif int(words[1]) in first:
            name = f"blocks.0.{first[int(words[1])]}"
        else:
            block = 1 + sum(stacks[: int(words[1]) - 8]) + int(words[2])
            name = f"blocks.{block}.{inner[int(words[4])]}"
        mapped[f"{name}.{words[-1]}"] = value
    return mapped


def from_torchvision_efficientnet(state, blocks_per_stage):
    mapped = {}
    last = str(len(blocks_per_stage) + 1)
    for key, value in state.items():
        words = key.split(".")
        if key.startswith("classifier"):
            mapped[f"classifier.{words[-1]}"] = value
        elif words[1] in ("0", last):
            name = ("stem" if words[1] == "0" else "head") + ("_layer" if words[2] == "1" else "")
            mapped[f"{name}.{words[-1]}"] = value
        else:
            stage, number = int(words[1]) - 1, int(words[2])
            prefix = f"blocks.{sum(blocks_per_stage[:stage]) + number}"
            parts = [("depthwise",), ("squeeze_excite",), ("project",)]
            parts = parts if stage == 0 else [("expand",), *parts]
            name = parts[int(words[4])][0]
            if name == "squeeze_excite":
                mapped[f"{prefix}.{name}.{ {'fc1': 'squeeze', 'fc2': 'excite'}[words[5]] }.{words[-1]}"] = value
            else:
                mapped[f"{prefix}.{name}{'_layer' if words[5] == '1' else ''}.{words[-1]}"] = value
    return mapped


B0_BLOCKS, B5_BLOCKS = (1, 2, 2, 3, 3, 4, 1), (3, 5, 5, 7, 7, 9, 3)  # ceil(2.2 * B0)

# our name: (the rival, its layer, the mapping)
RIVALS = {
    "resnet50": (
        partial(timm_model, "resnetv2_50"),
        layer_with(nn.functional.relu),
        partial(from_timm_resnet, blocks_per_stage=(3, 4, 6, 3)),
    ),
    "mobilenetv2": (
        torchvision.models.mobilenet_v2,
        layer_with(nn.functional.relu6),
        from_torchvision_mobilenet,
    ),
    "mnasnet-b1": (torchvision.models.mnasnet1_0, layer_with(nn.functional.relu), from_torchvision_mnasnet),
    "efficientnet-b0": (
        torchvision.models.efficientnet_b0,
        layer_with(nn.functional.silu),
        partial(from_torchvision_efficientnet, blocks_per_stage=B0_BLOCKS),
    ),
    "efficientnet-b5": (
        torchvision.models.efficientnet_b5,
        layer_with(nn.functional.silu, eps=1e-3),
        partial(from_torchvision_efficientnet, blocks_per_stage=B5_BLOCKS),
    ),
}


@torch.no_grad()
def randomize_batch_norms(model, images):
    """Random statistics and affines near the data's, so that a swapped one shows and the signal still gets through."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.weight.uniform_(0.5, 1.5)
        norm.bias.normal_(std=0.3)
        norm.momentum = 1.0
    model.train()(images)
    for norm in norms:
        norm.running_mean += norm.running_var.sqrt() * torch.randn(norm.num_features) * 0.1
        norm.running_var *= torch.empty(norm.num_features).uniform_(0.9, 1.2)
