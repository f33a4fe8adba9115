"""Our models are the published ones: same parameters, same multiply-adds, same logits from the same weights."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import evonorm
from evonorm.models import model_cost

from .rivals import RIVALS, randomize_batch_norms

PARAMETERS = {
    "resnet50": 25_549_352,
    "mobilenetv2": 3_504_872,
    "mnasnet-b1": 4_383_312,
    "efficientnet-b0": 5_288_548,
    "efficientnet-b5": 30_389_784,
}
PUBLISHED_GIGA_MULTIPLY_ADDS = {
    "resnet50": 4.1,
    "mobilenetv2": 0.30,
    "mnasnet-b1": 0.315,
    "efficientnet-b0": 0.39,
    "efficientnet-b5": 9.9,
}


@pytest.mark.parametrize("name", RIVALS)
def test_same_weights_give_the_same_logits(name):
    make_rival, layer, mapping = RIVALS[name]
    torch.manual_seed(0)
    images = torch.randn(2, 3, 96, 128)  # not square: height and width must not be mixed up
    rival = make_rival()
    randomize_batch_norms(rival, images)
    ours = evonorm.create_model(name, layer=layer).eval()
    ours.load_state_dict(mapping(rival.state_dict()))
    with torch.no_grad():
        expected, got = rival.eval()(images), ours(images)
    assert (expected[0] - expected[1]).abs().max() > 0.01  # the logits do depend on the image
    assert (expected - got).abs().max() <= 1e-4


@pytest.mark.parametrize(("name", "count"), PARAMETERS.items())
def test_parameters(name, count):
    with torch.device("meta"):
        model = evonorm.create_model(name, num_classes=1000)
    assert sum(p.numel() for p in model.parameters()) == count == model_cost(name).parameters


@pytest.mark.parametrize("name", RIVALS)
def test_multiply_adds(name):
    cost = model_cost(name)
    with torch.device("meta"):
        rival = RIVALS[name][0]().eval()
        images = torch.empty(1, 3, cost.image_size, cost.image_size)
    with FlopCounterMode(display=False) as counter:
        rival(images)
    assert cost.conv_multiply_adds == counter.get_total_flops() // 2
    assert cost.conv_multiply_adds / 1e9 == pytest.approx(PUBLISHED_GIGA_MULTIPLY_ADDS[name], rel=0.04)


@pytest.mark.parametrize("size", range(8))
def test_every_efficientnet_has_the_size_of_torchvisions(size):
    import torchvision

    with torch.device("meta"):
        ours = evonorm.create_model(f"efficientnet-b{size}")
        rival = getattr(torchvision.models, f"efficientnet_b{size}")()
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in rival.parameters())


@pytest.mark.parametrize("depth", [101, 152])
def test_deeper_resnets_have_the_size_of_timms(depth):
    import timm

    with torch.device("meta"):
        ours = evonorm.create_model(f"resnet{depth}")
        rival = timm.create_model(f"resnetv2_{depth}")
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in rival.parameters())
