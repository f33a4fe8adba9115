"""Weights start as in the official code of each family."""

import math

import pytest
import torch
from torch import nn

import evonorm
from evonorm.layers import BatchNormAct
from evonorm.models import ANCHORS
from evonorm.models.initialization import truncated_normal_


def convolutions(model, minimum=2000):
    return [m for m in model.modules() if isinstance(m, nn.Conv2d) and m.weight.numel() >= minimum]


@pytest.fixture(params=["resnet50-cifar", "mobilenetv2-cifar", "mnasnet-b1", "efficientnet-b0-cifar"])
def model(request):
    torch.manual_seed(3)
    net = evonorm.create_model(request.param)
    net.name = request.param
    return net


def test_spread_of_convolutions(model):
    for conv in convolutions(model):
        fan_in, fan_out = conv.weight[0].numel(), conv.weight[:, 0].numel() // conv.groups
        expected = {
            "resnet50-cifar": math.sqrt(1 / fan_in),
            "mobilenetv2-cifar": 0.09 * 0.8796,
            "mnasnet-b1": math.sqrt(2 / fan_out),
            "efficientnet-b0-cifar": math.sqrt(2 / fan_out),
        }[model.name]
        assert conv.weight.std().item() == pytest.approx(expected, rel=5 / math.sqrt(conv.weight.numel()))


def test_depthwise_convolutions_count_their_own_kernel_only():
    torch.manual_seed(0)
    block = evonorm.create_model("efficientnet-b0").blocks[-2]
    assert block.depthwise.weight.shape == (1152, 1, 5, 5)
    assert block.depthwise.weight.std().item() == pytest.approx(math.sqrt(2 / 25), rel=0.05)


def test_dense_layers(model):
    weight = model.classifier.weight
    spread = {
        "resnet50-cifar": 0.01,
        "mobilenetv2-cifar": 0.01,
        "mnasnet-b1": 1 / math.sqrt(3 * 1000),
        "efficientnet-b0-cifar": 1 / math.sqrt(3 * 1000),
    }[model.name]
    assert weight.std().item() == pytest.approx(spread, rel=5 / math.sqrt(weight.numel()))
    assert all(
        (m.bias == 0).all() for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Linear)) and m.bias is not None
    )


def test_truncated_normal_is_one():
    weight = torch.empty(400_000)
    truncated_normal_(weight, 0.5)
    assert weight.abs().max() <= 1.0 + 1e-6
    assert weight.std().item() == pytest.approx(0.5 * 0.8796, rel=0.005)
    # the share within one std of the uncut normal, where a uniform of equal spread would give 0.577
    assert (weight.abs() < 0.5).float().mean().item() == pytest.approx(0.6827 / 0.9545, abs=0.005)


@pytest.mark.parametrize("layer", ["bn-relu", "evonorm-s0"])
def test_only_the_last_gamma_of_anchors_starts_small(layer):
    others = {"efficientnet-b0-cifar": 1.0, "mobilenet-thin": 0.35}
    for name, start in (
        *((anchor, others.get(anchor, 0.5)) for anchor in ANCHORS),
        ("resnet26", 1.0),
        ("mobilenetv2", 1.0),
    ):
        model = evonorm.create_model(name, layer)
        gammas = [m.weight for m in model.modules() if isinstance(m, (evonorm.NormAct, BatchNormAct))]
        last = model.last_layer if hasattr(model, "last_layer") else model.head_layer
        assert torch.allclose(last.weight, torch.tensor(start))
        assert sum((gamma != 1).any().item() for gamma in gammas) == (start != 1)
