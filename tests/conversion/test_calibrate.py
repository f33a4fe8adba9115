"""Layers that start close to what they replace, a short training with the old model as teacher, and folding."""

import copy

import pytest
import torch
from torch import nn

import evonorm
from evonorm.conversion import SurgeryError
from evonorm.conversion.calibrate import fit_layer, one_batch, sampled
from evonorm.conversion.fold import modules_before


class Block(nn.Module):
    """A residual block as people write it: one ReLU for two places, in place."""

    def __init__(self, channels):
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        z = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(z)) + x)


def trained_net():
    """With moments, gamma and beta that are not those of a new net."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), Block(16), Block(16), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    net.append(nn.Linear(16, 5))
    with torch.no_grad():
        for module in net.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.weight.uniform_(0.5, 1.5)
                module.bias.normal_(0, 0.3)
    return evonorm.update_moments(net, [pictures(1)]).eval()


def pictures(seed, count=64):
    draw = torch.Generator().manual_seed(seed)
    scales = 0.5 + torch.rand(count, 1, 1, 1, generator=draw)
    return torch.randn(count, 3, 12, 12, generator=draw) * scales


def how_far(model, old, x):
    with torch.no_grad():
        return float((model.eval()(x) - old(x)).norm() / (old(x) - old(x).mean(0)).norm())


@pytest.mark.parametrize("layer", ["evonorm-s0", "evonorm-b0", "evonorm-s2"])
def test_a_calibrated_model_is_closer_to_the_old_one(layer):
    old = trained_net()
    naive, calibrated = copy.deepcopy(old), copy.deepcopy(old)
    evonorm.convert(naive, layer, pictures(2, 2), groups=1)
    evonorm.convert(calibrated, layer, pictures(2, 2), calibrate=pictures(1))
    unseen = pictures(3)
    assert how_far(calibrated, old, unseen) < 0.4 * how_far(naive, old, unseen)
    assert "unexplained variance" in str(calibrated.evonorm_positions)
    assert calibrated.training == naive.training


def test_the_same_function_stays_the_same():
    old = trained_net()
    twin = evonorm.convert(copy.deepcopy(old), "bn-relu", pictures(2, 2), calibrate=pictures(1))
    assert how_far(twin, old, pictures(3)) < 1e-4
    with torch.no_grad():  # in training too: what stands before a BatchNorm of the same kind is left alone
        torch.testing.assert_close(twin.train()(pictures(3)), old.train()(pictures(3)), rtol=1e-3, atol=1e-4)


def test_an_affine_before_the_activation_is_not_fitted():
    layer, x = evonorm.create_layer("gn-silu", 4), torch.randn(8, 4, 5, 5)
    with torch.no_grad():
        fit_layer(layer, x, sampled(x.relu()))
    assert torch.equal(layer.weight, torch.ones(4))


def test_least_squares_against_numpys():
    layer = evonorm.create_layer("evonorm-s2", 4, groups=1)
    x, target = torch.randn(8, 4, 5, 5), torch.randn(8, 4, 5, 5)
    with torch.no_grad():
        u = layer(x)
        left = fit_layer(layer, x, sampled(target))
    total = 0.0
    for channel in range(4):
        matrix = torch.stack([u[:, channel].flatten(), torch.ones(200)], 1).double()
        found = torch.linalg.lstsq(matrix, target[:, channel].flatten().double()).solution
        torch.testing.assert_close(layer.weight[channel].double(), found[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(layer.bias[channel].double(), found[1], rtol=1e-4, atol=1e-5)
        total += float((matrix @ found - target[:, channel].flatten().double()).square().sum())
    spread = (target - target.mean((0, 2, 3), keepdim=True)).square().sum()
    assert left == pytest.approx(total / float(spread), rel=1e-4)


def test_b0_finds_the_sign_of_v1():
    """x / max(bstd, v1 x + istd) is linear above zero and flat below it for negative v1 only."""
    torch.manual_seed(0)
    layer, x = evonorm.create_layer("evonorm-b0", 4).eval(), torch.randn(32, 4, 6, 6)
    with torch.no_grad():
        assert fit_layer(layer, x, sampled(x.relu())) < 0.1
    assert layer.v1.max() < 0
    assert layer.running_var.mean() == pytest.approx(1.0, abs=0.1)


def test_batches_of_any_usual_kind():
    x = torch.randn(4, 3)
    assert one_batch(x) is x
    torch.testing.assert_close(one_batch([x, (x, torch.zeros(4))]), torch.cat([x, x]))
    torch.testing.assert_close(one_batch(iter([{"x": x}, {"x": x}]))["x"], torch.cat([x, x]))
    with pytest.raises(ValueError, match="got no batch"):
        one_batch([])


def test_a_convolution_that_others_read_is_not_folded():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn, self.relu = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()
            self.head = nn.Conv2d(8, 2, 1)

        def forward(self, x):
            z = self.conv(x)
            return self.head(self.relu(self.bn(z)) + z)

    torch.manual_seed(0)
    model = evonorm.update_moments(Shared(), [pictures(1) * 3]).eval()
    assert modules_before(model, ["bn"], pictures(2)) == {"bn": "conv"}
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(SurgeryError, match="something else reads"):
        evonorm.fold(model, pictures(2))
    weights = model.conv.weight.clone()
    evonorm.convert(model, "evonorm-s0", pictures(2, 2), calibrate=pictures(1))
    assert torch.equal(model.conv.weight, weights)
    assert torch.equal(before["head.weight"], model.head.weight)


def test_imitation_comes_closer_and_needs_no_labels():
    old = trained_net()
    model = evonorm.convert(copy.deepcopy(old), "evonorm-s0", pictures(2, 2), calibrate=pictures(1))
    state, far = copy.deepcopy(old.state_dict()), how_far(model, old, pictures(3))
    losses = evonorm.imitate(model, old, [pictures(seed, 32) for seed in range(10, 50)], learning_rate=3e-3)
    assert len(losses) == 40
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])
    assert how_far(model, old, pictures(3)) < far
    assert all(torch.equal(state[name], each) for name, each in old.state_dict().items())


@pytest.mark.parametrize("layer", ["bn-relu", "bn-silu", "evonorm-s0", "evonorm-b0"])
def test_folding_leaves_the_function_and_takes_the_affines_out(layer):
    torch.manual_seed(0)
    model = evonorm.create_model("mobilenet-nano", layer=layer)
    x = torch.randn(8, 3, 24, 24)
    evonorm.update_moments(model, [x])
    with torch.no_grad():
        for module in model.modules():
            if hasattr(module, "running_var") or hasattr(module, "v1"):
                module.weight.uniform_(0.5, 1.5)
        expected = model.eval()(x)
        folded = evonorm.fold(copy.deepcopy(model), x[:2])
        torch.testing.assert_close(folded(x), expected, rtol=1e-4, atol=1e-4)
    affine = [each for each in folded.modules() if getattr(each, "nonlinearity", True) is False]
    assert not affine
    if layer.startswith("bn"):
        assert not [each for each in folded.modules() if getattr(each, "activation", None) == "relu"]
